"""What `holdfast plan` shows: the peak against the limit, what is in it, and what would fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.cli.terminal import summary_panel
from holdfast.config.summary import SummaryRow
from holdfast.memory.plan import MemoryPlan, StepSettings
from holdfast.memory.search.planner import StepChoice
from holdfast.memory.search.what_fits import Fits
from holdfast.training.fitting.choice import RESOLUTIONS, Fitting
from holdfast.units import bytes_text, count_text

_BAR = 28  # characters
_LABEL = 27
_ACTIVATIONS = "activations/"


def plan_document(choice: StepChoice) -> dict[str, Any]:
    """Give the chosen plan as JSON values, with why it was chosen."""
    document = choice.plan.document() | {"reasons": list(choice.reasons)}
    if not choice.plan.fits:
        document["suggestions"] = [each.document() for each in choice.suggestions]
    if choice.plan.settings != choice.tried[0].settings:
        document["as_it_is"] = choice.tried[0].document()
    return document


class PlanPrinter:
    """Prints what is known as soon as it is known: the peak as it is, what is tried, the choice."""

    def __init__(self, terminal: Console, name: str, fitting: Fitting) -> None:
        self._terminal = terminal
        self._name = name
        self._fitting = fitting
        self._tried: list[MemoryPlan] = []

    def tried(self, plan: MemoryPlan) -> None:
        """Print a plan that was tried; the first one is how the config has it."""
        if not self._tried:
            self._terminal.print(summary_panel(self._name, _rows(self._fitting, plan)))
        self._terminal.print(_bar(_label(plan.settings) if self._tried else "as it is", plan))
        self._tried.append(plan)

    def chosen(self, choice: StepChoice) -> None:
        """Print the chosen plan, and what had to be changed to make it fit."""
        terminal, first, plan = self._terminal, choice.tried[0], choice.plan
        for each in choice.tried if not self._tried else ():
            self.tried(plan if each.settings == plan.settings else each)
        terminal.print()
        terminal.print(_items_table(plan))
        terminal.print(_activations_table(plan))
        for reason in choice.reasons:
            terminal.print(Text(reason, style="bold" if plan.fits else "bold red"))
        if plan.settings != first.settings and plan.fits:
            terminal.print(f"A step has {choice.time_factor:.2f} times as many operations.")
        for suggestion in choice.suggestions:
            terminal.print(Text(str(suggestion), style="green"), soft_wrap=True)

    def what_fits(self, rows: Sequence[Fits]) -> None:
        """Print the largest batch by resolution."""
        shape = self._fitting.worst.shape
        title = f"The largest batch in {bytes_text(self._fitting.limit.bytes)}, by resolution"
        columns = [
            f"{round(shape.height * scale)} x {round(shape.width * scale)}" for scale in RESOLUTIONS
        ]
        table = Table("", *columns, title=title, title_justify="left")
        for row in rows:
            cells = [str(batch) if batch else "-" for batch in row.batches]
            table.add_row(f"{row.precision}{', rematerialized' * row.rematerializes}", *cells)
        self._terminal.print(table)
        self._terminal.print(
            "Extrapolated from one trace a row, in proportion to images and pixels.", style="dim"
        )


def _rows(fitting: Fitting, plan: MemoryPlan) -> Iterator[SummaryRow]:
    shape, settings = fitting.worst.shape, plan.settings
    yield SummaryRow(
        "worst batch",
        f"{count_text(settings.batch_size, 'image')} of {shape.height} x {shape.width}, "
        f"{shape.boxes} box{'' if shape.boxes == 1 else 'es'} each",
    )
    for reason in fitting.worst.reasons:
        yield SummaryRow("worst batch", reason)
    limit = fitting.limit
    yield SummaryRow(
        "memory", f"{bytes_text(limit.bytes)} on the {limit.device.upper()} ({limit.source})"
    )
    yield SummaryRow("computes", f"{plan.predicted_step_flops / 1e9:.3g} billion operations a step")


def _label(settings: StepSettings) -> str:
    """Say in a few words how a step is computed."""
    parts = [f"{settings.accumulation} pieces"] if settings.accumulation > 1 else []
    if settings.rematerialize:
        parts.append(f"{count_text(len(settings.rematerialize), 'block')} twice")
    if settings.region_chunks > 1:
        parts.append(f"{settings.region_chunks} chunks")
    return ", ".join(parts) or "whole batch"


def _bar(label: str, plan: MemoryPlan) -> Text:
    """Draw base and peak against the limit."""
    needed, limit = plan.base_bytes + plan.predicted_peak_bytes, max(1, plan.limit_bytes)
    scale = _BAR / max(needed, limit)
    base, whole, end = (round(size * scale) for size in (plan.base_bytes, needed, limit))
    color = "green" if plan.fits else "red"
    bar = Text(f"{label:<{_LABEL}}", style="cyan")
    bar.append("▒" * base, style=color)
    bar.append("█" * (whole - base), style=color)
    bar.append("·" * max(0, end - whole), style="dim")
    verdict = "fits" if plan.fits else f"{bytes_text(needed - limit)} too much"
    bar.append(f"  {bytes_text(needed)} of {bytes_text(limit)}: {verdict}", style=f"bold {color}")
    if plan.measured_peak_bytes is not None:
        bar.append(f" (measured {bytes_text(plan.base_bytes + plan.measured_peak_bytes)})")
    return bar


def _items_table(plan: MemoryPlan) -> Table:
    table = Table(title="At the peak", title_justify="left", show_header=False, box=None)
    table.add_column(style="cyan")
    table.add_column(justify="right")
    table.add_column()
    table.add_row("the process before", bytes_text(plan.base_bytes), "Python, TensorFlow, data")
    for name, size in sorted(_grouped(plan.items).items(), key=lambda item: -item[1]):
        if size:
            table.add_row(name, bytes_text(size), "▪" * round(30 * size / _largest(plan)))
    return table


def _grouped(items: dict[str, int]) -> dict[str, int]:
    """Join the activations of all blocks."""
    kept = sum(size for name, size in items.items() if name.startswith(_ACTIVATIONS))
    rest = {name: size for name, size in items.items() if not name.startswith(_ACTIVATIONS)}
    return {"activations kept": kept} | rest


def _largest(plan: MemoryPlan) -> int:
    return max(1, *_grouped(plan.items).values())


def _activations_table(plan: MemoryPlan) -> Table:
    table = Table(title="Largest activations", title_justify="left", show_header=False, box=None)
    table.add_column(style="cyan")
    table.add_column()
    table.add_column(justify="right")
    for each in plan.largest_activations:
        shape = " x ".join(map(str, each.shape))
        table.add_row(f"{each.layer} ({each.operation})", shape, bytes_text(each.bytes))
    return table
