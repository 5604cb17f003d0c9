"""The data that `holdfast train` and `evaluate` are about to read: looked at, and what it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from holdfast.cli.progress_bar import progress
from holdfast.cli.terminal import problem_list
from holdfast.config.schema.input_reader import InputReader
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.data.input.build_input import open_reader
from holdfast.data.survey.inspection import Inspection, inspect_data
from holdfast.data.survey.statistics import LeftOut
from holdfast.data.survey.usable import refuse_unusable
from holdfast.errors import warnings_of
from holdfast.progress import Progress
from holdfast.training.peers.present_peers import doing
from holdfast.units import count_text

_MEGABYTE = 10**6


def print_data(terminal: Console, config: TrainEvalPipelineConfig, folder: Path) -> int | None:
    """Look at all data of a training, which is remembered, and print what is left out of it.

    Gives the number of images to evaluate on; None without any reader of them.
    """
    if config.train_input_reader is not None:
        look_at(terminal, config.train_input_reader, folder, "train_input_reader")
    if not config.eval_input_reader:
        return None
    looked_at = look_at(terminal, config.eval_input_reader[0], folder, "eval_input_reader")
    return looked_at.statistics.images


def look_at(terminal: Console, reader: InputReader, folder: Path, name: str) -> Inspection:
    """Look at the data of one reader, and print what is left out of it; an error without a box."""
    records = open_reader(reader, folder, name=name)
    with progress(f"look at {name}", "MB") as report:
        inspection = inspect_data(
            records, progress=lambda done, total: _looked(report, name, done, total)
        )
    doubts = warnings_of(inspection.problems)
    terminal.print(problem_list(replace(each, path=name) for each in doubts))
    for text in _left_out(inspection):
        terminal.print(Text("left out: ", style="bold yellow") + Text(f"{name}: {text}"))
    for note in inspection.notes:
        terminal.print(Text("note: ", style="bold") + Text(f"{name}: {note}"))
    refuse_unusable(inspection.problems, name)
    return inspection


def _looked(report: Progress, name: str, done: int, total: int) -> None:
    doing(f"looks at the data of {name}")
    report(done // _MEGABYTE, total // _MEGABYTE)


def _left_out(inspection: Inspection) -> Iterator[str]:
    for each in inspection.statistics.left_out:
        example = f", such as {each.examples[0]}" if each.examples else ""
        yield f"{_amount(each)}: {each.reason}{example}"


def _amount(group: LeftOut) -> str:
    parts = []
    if group.images:
        parts.append(count_text(group.images, "image"))
    if group.boxes:
        inside = "" if group.images else f" in {count_text(group.images_affected, 'image')}"
        parts.append(count_text(group.boxes, "box", "boxes") + inside)
    return ", ".join(parts)
