"""What `holdfast check` advises: the options that make a config ready, ready to paste."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from holdfast.config.check_config import CheckReport
from holdfast.config.facts.input_sizes import input_shape
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.suggestions.suggest import Suggestion, suggest
from holdfast.errors import errors_of
from holdfast.units import count_text

if TYPE_CHECKING:
    from holdfast.cli.check.check_data import LookedAt

_LARGE_BATCH_PIXELS = 16 * 640 * 640  # more is made for several accelerators


@dataclass(frozen=True, kw_only=True)
class Advice:
    """Commands for a user to run, and why."""

    suggestion: Suggestion
    first: str | None  # a command that makes the data
    command: str | None  # `holdfast check` with all options; None if there is nothing to suggest


def advise(
    report: CheckReport, overrides: Mapping[str, str], named: LookedAt | None = None
) -> Advice:
    """Find the options for a config that was checked with overrides, and write the command."""
    if report.config is None:
        return Advice(suggestion=Suggestion(remaining=report.errors), first=None, command=None)
    data = None if named is None else named.data
    suggestion = suggest(report.config, report.source.parent, data)
    if named is not None:
        remaining = (*errors_of(named.problems), *suggestion.remaining)
        suggestion = replace(suggestion, remaining=remaining)
    suggestion = replace(suggestion, notes=(*suggestion.notes, *_batch_notes(report.config)))
    command = None
    if suggestion.settings:
        settings = {**overrides, **suggestion.settings}
        options = [f"--set {shlex.quote(f'{path}={value}')}" for path, value in settings.items()]
        command = " ".join(["holdfast check", shlex.quote(str(report.source)), *options])
    first = None if named is None else named.first
    return Advice(suggestion=suggestion, first=first, command=command)


def _batch_notes(config: TrainEvalPipelineConfig) -> Iterator[str]:
    """Name the command that tells whether a large batch fits, which needs the network built."""
    if config.model is None or config.train_config is None:
        return
    batch = config.train_config.batch_size
    shape = input_shape(config.model, batch)
    if shape is not None and batch * shape.height * shape.width > _LARGE_BATCH_PIXELS:
        yield (
            f"A batch of {batch} images of {shape.height} x {shape.width} is large: `holdfast plan`"
            " with the same options says what fits here. Training computes it in pieces if needed."
        )


def advice_json(advice: Advice) -> dict[str, Any]:
    """Give the advice as JSON values."""
    suggestion = advice.suggestion
    return {
        "set": suggestion.settings,
        "command": advice.command,
        "first": advice.first,
        "ready": not suggestion.remaining,
        "notes": list(suggestion.notes),
    }


def print_advice(advice: Advice) -> None:
    """Print what the options are, and last the line to paste."""
    from rich.text import Text

    from holdfast.cli.terminal import console

    terminal, suggestion = console(), advice.suggestion
    if advice.command is None and not suggestion.remaining:
        return
    for note in suggestion.notes:  # not wrapped: addresses are copied from here
        terminal.print(Text("note: ", style="bold") + Text(note), soft_wrap=True)
    if advice.command is None:
        return
    terminal.print(Text(f"\n{_heading(suggestion, converts=advice.first is not None)}"))
    for row in suggestion.rows:
        terminal.print(Text(f"  {row.label:<17}", style="cyan") + Text(row.text), soft_wrap=True)
    for command in (advice.first, advice.command):
        if command is not None:  # on one line, however long: it is copied from here
            terminal.print(Text(command, style="bold"), soft_wrap=True)


def _heading(suggestion: Suggestion, *, converts: bool) -> str:
    start = "After the conversion, these options" if converts else "These options"
    if not suggestion.remaining:
        return f"{start} make it ready; `holdfast train` takes the same:"
    first = suggestion.remaining[0]
    count = count_text(len(suggestion.remaining), "error")
    return f"{start} leave {count}: {first.path}: {first.message}."
