"""How long the instant commands take, as multiples of a bare Python start, in one run."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table
from sample_config import CONFIG

ROUNDS = 15


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "pipeline.config"
        config.write_text(CONFIG)
        commands = {
            "python -c pass": ["-c", "pass"],
            "python -c 'import typer, rich.console'": ["-c", "import typer, rich.console"],
            "holdfast --help": ["-m", "holdfast", "--help"],
            "holdfast check CONFIG": ["-m", "holdfast", "check", str(config)],
            "holdfast check CONFIG --json": ["-m", "holdfast", "check", str(config), "--json"],
        }
        seconds = measure(commands)
    bare = statistics.median(seconds["python -c pass"])
    table = Table("command", "median", "times a bare start", title=f"Start-up, {ROUNDS} rounds")
    for name, each in seconds.items():
        median = statistics.median(each)
        table.add_row(name, f"{median * 1000:.0f} ms", f"{median / bare:.1f}")
    Console().print(table)


def measure(commands: dict[str, list[str]]) -> dict[str, list[float]]:
    """Run the commands in turn, so that a slow moment of the machine hits all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, arguments in commands.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=False)
            seconds[name].append(time.perf_counter() - start)
    return seconds


if __name__ == "__main__":
    main()
