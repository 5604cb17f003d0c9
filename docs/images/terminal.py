"""Draw what commands show: check.svg, a config with a few mistakes; plan.svg, too little memory."""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from typer.testing import CliRunner

from holdfast.cli import terminal
from holdfast.cli.main import app

HERE = Path(__file__).resolve().parent
FOLDER = "shapes"  # in which the config lies
sys.path.insert(0, str(HERE.parent.parent / "benchmarks"))

from sample_config import CONFIG  # noqa: E402


def main() -> None:
    """Write the pictures beside this file."""
    draw("check", mistaken_config)
    draw("plan", config_for_shapes, "--memory", "1.5GiB")


def draw(command: str, prepare: Callable[[], None], *options: str) -> None:
    """Run a command in a new folder, on the config made there."""
    console = Console(record=True, width=100, file=io.StringIO(), highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        prepare()
        terminal.console = lambda: console  # type: ignore[assignment]
        arguments = (command, f"{FOLDER}/pipeline.config", *options)
        run(*arguments)
        svg = console.export_svg(title=" ".join(("holdfast", *arguments)))
        os.chdir(HERE)
    without_fonts = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # loads nothing
    (HERE / f"{command}.svg").write_text(without_fonts)


def run(*arguments: str) -> None:
    """Run a command of the command line; what goes wrong in it goes wrong here."""
    CliRunner().invoke(app, arguments, catch_exceptions=False)


def mistaken_config() -> None:
    """Write a config whose schedule ends early and whose validation data is on another disk."""
    text = CONFIG.replace("total_steps: 50000", "total_steps: 25000")
    text = text.replace('"val.record-?????-of-00010"', r'"D:\data\new\val.record"')
    place = Path(FOLDER)
    place.mkdir()
    (place / "pipeline.config").write_text(text)
    (place / "label_map.pbtxt").write_text(
        "".join(f"item {{ id: {i} name: '{n}' }}\n" for i, n in enumerate("abcd", start=1))
    )
    for shard in range(10):
        (place / f"train.record-{shard:05d}-of-00010").write_bytes(b"x")


def config_for_shapes() -> None:
    """Write the config of a real network for synthetic data."""
    data = ("--data", "100@320", "--format", "synthetic")
    run("new", "ssd_mobilenet_v2_320", *data, "--out", FOLDER)


if __name__ == "__main__":
    main()
