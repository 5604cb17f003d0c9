"""The data that `holdfast train` and `evaluate` are about to read: looked at, and what it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

from holdfast.cli.progress import progress
from holdfast.config.schema.input_reader import InputReader
from holdfast.config.schema.pipeline import TrainEvalPipelineConfig
from holdfast.data.build import open_reader
from holdfast.data.inspection import Inspection, inspect_data
from holdfast.data.statistics import LeftOut

_MEGABYTE = 10**6


def print_data(terminal: Console, config: TrainEvalPipelineConfig, folder: Path) -> None:
    """Look at all data of a training, which is remembered, and print what is left out of it."""
    if config.train_input_reader is not None:
        look_at(terminal, config.train_input_reader, folder, "train_input_reader")
    if config.eval_input_reader:
        look_at(terminal, config.eval_input_reader[0], folder, "eval_input_reader")


def look_at(terminal: Console, reader: InputReader, folder: Path, name: str) -> Inspection:
    """Look at the data of one reader, and print what is left out of it."""
    records = open_reader(reader, folder, name=name)
    with progress(f"look at {name}", "MB") as report:
        inspection = inspect_data(
            records, progress=lambda done, total: report(done // _MEGABYTE, total // _MEGABYTE)
        )
    for text in _left_out(inspection):
        terminal.print(Text("left out: ", style="bold yellow") + Text(f"{name}: {text}"))
    for note in inspection.notes:
        terminal.print(Text("note: ", style="bold") + Text(f"{name}: {note}"))
    return inspection


def _left_out(inspection: Inspection) -> Iterator[str]:
    for each in inspection.statistics.left_out:
        example = f", such as {each.examples[0]}" if each.examples else ""
        yield f"{_amount(each)}: {each.reason}{example}"


def _amount(group: LeftOut) -> str:
    parts = []
    if group.images:
        parts.append(f"{group.images} image{'' if group.images == 1 else 's'}")
    if group.boxes:
        boxes = f"{group.boxes} box{'' if group.boxes == 1 else 'es'}"
        affected = group.images_affected
        inside = "" if group.images else f" in {affected} image{'' if affected == 1 else 's'}"
        parts.append(boxes + inside)
    return ", ".join(parts)
