"""Draw docs/images/check.svg: what `holdfast check` shows for a config with a few mistakes."""

from __future__ import annotations

import io
import re
import sys
import tempfile
from pathlib import Path

from rich.console import Console

import holdfast.cli.check as command
from holdfast.cli import terminal
from holdfast.config.check import check_config

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "benchmarks"))


def main() -> None:
    """Write the picture beside this file."""
    from sample_config import CONFIG

    text = CONFIG.replace("total_steps: 50000", "total_steps: 25000")
    text = text.replace('"val.record-?????-of-00010"', r'"D:\data\new\val.record"')
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "pipeline.config").write_text(text)
        (place / "label_map.pbtxt").write_text(
            "".join(f"item {{ id: {i} name: '{n}' }}\n" for i, n in enumerate("abcd", start=1))
        )
        for shard in range(10):
            (place / f"train.record-{shard:05d}-of-00010").write_bytes(b"x")
        report = check_config(place / "pipeline.config")
    console = Console(record=True, width=100, file=io.StringIO(), highlight=False)
    terminal.console = lambda: console  # type: ignore[assignment]
    command.print_report(report, title="pipeline.config")
    svg = console.export_svg(title="holdfast check pipeline.config").replace(str(place), ".")
    without_fonts = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # loads nothing
    (HERE / "check.svg").write_text(without_fonts)


if __name__ == "__main__":
    main()
