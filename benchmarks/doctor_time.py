"""How long `holdfast doctor` takes on configs without their data, in times of `holdfast check`.

Without an argument it takes the sample config; else every .config file below the folders given.
"""

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

ROUNDS = 3
MOST_CONFIGS = 20  # evenly chosen: each command is a process of its own


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        sample = Path(folder) / "pipeline.config"
        sample.write_text(CONFIG)
        found = [each for root in sys.argv[1:] for each in sorted(Path(root).rglob("*.config"))]
        configs = found[:: max(len(found) // MOST_CONFIGS, 1)] or [sample]
        ratios = {path.name: ratio(path) for path in configs}
    table = Table("config", "check", "doctor", "times", title="doctor against check, medians")
    for name, (check, doctor) in sorted(ratios.items(), key=lambda each: -each[1][1] / each[1][0]):
        table.add_row(
            name, f"{check * 1000:.0f} ms", f"{doctor * 1000:.0f} ms", f"{doctor / check:.2f}"
        )
    Console().print(table)
    worst = max(doctor / check for check, doctor in ratios.values())
    Console().print(f"The slowest of {len(ratios)} took {worst:.2f} times as long as its check.")


def ratio(path: Path) -> tuple[float, float]:
    """Give the median seconds of both commands, taken in turn."""
    seconds: dict[str, list[float]] = {"check": [], "doctor": []}
    for _ in range(ROUNDS):
        for command, taken in seconds.items():
            start = time.perf_counter()
            arguments = [sys.executable, "-m", "holdfast", command, str(path), "--json"]
            subprocess.run(arguments, stdout=subprocess.DEVNULL, check=False)
            taken.append(time.perf_counter() - start)
    return statistics.median(seconds["check"]), statistics.median(seconds["doctor"])


if __name__ == "__main__":
    main()
