"""What `holdfast plan` shows: the peak against the limit, what is in it, and what would fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.cli.terminal import summary_panel
from holdfast.config.summary import Row
from holdfast.memory.plan import MemoryPlan
from holdfast.memory.planner import Choice
from holdfast.memory.what_fits import Fits
from holdfast.training.fitting import RESOLUTIONS, Fitting
from holdfast.units import bytes_text

_BAR = 40  # characters
_ACTIVATIONS = "activations/"


def plan_document(choice: Choice) -> dict[str, Any]:
    """Give the chosen plan as JSON values, with why it was chosen."""
    document = choice.plan.document() | {"reasons": list(choice.reasons)}
    if choice.plan.settings != choice.tried[0].settings:
        document["as_it_is"] = choice.tried[0].document()
    return document


def print_choice(terminal: Console, name: str, fitting: Fitting, choice: Choice) -> None:
    """Print the plan, and what had to be changed to make it fit."""
    first, plan = choice.tried[0], choice.plan
    terminal.print(summary_panel(name, _rows(fitting, first)))
    terminal.print(_bar("as it is", first))
    if plan.settings != first.settings:
        terminal.print(_bar("changed" if plan.fits else "smallest", plan))
    terminal.print()
    terminal.print(_items_table(plan))
    terminal.print(_activations_table(plan))
    for reason in choice.reasons:
        terminal.print(Text(reason, style="bold" if plan.fits else "bold red"))
    if plan.settings != first.settings and plan.fits:
        terminal.print(f"A step has {choice.time_factor:.2f} times as many operations.")
    for suggestion in fitting.suggestions(choice):
        terminal.print(Text(suggestion, style="green"), soft_wrap=True)


def print_what_fits(terminal: Console, fitting: Fitting, rows: Sequence[Fits]) -> None:
    """Print the largest batch by resolution."""
    shape = fitting.worst.shape
    title = f"The largest batch in {bytes_text(fitting.limit.bytes)}, by resolution"
    columns = [
        f"{round(shape.height * scale)} x {round(shape.width * scale)}" for scale in RESOLUTIONS
    ]
    table = Table("", *columns, title=title, title_justify="left")
    for row in rows:
        cells = [str(batch) if batch else "-" for batch in row.batches]
        table.add_row(row.mode.name, *cells)
    terminal.print(table)
    terminal.print(
        "Extrapolated from two traces a row, in proportion to images and pixels.", style="dim"
    )


def _rows(fitting: Fitting, plan: MemoryPlan) -> Iterator[Row]:
    shape, settings = fitting.worst.shape, plan.settings
    yield Row(
        "worst batch",
        f"{settings.batch_size} images of {shape.height} x {shape.width}, "
        f"{shape.boxes} box{'' if shape.boxes == 1 else 'es'} each",
    )
    for reason in fitting.worst.reasons:
        yield Row("worst batch", reason)
    limit = fitting.limit
    yield Row("memory", f"{bytes_text(limit.bytes)} on the {limit.device.upper()} ({limit.source})")
    yield Row("computes", f"{plan.predicted_step_flops / 1e9:.3g} billion operations a step")


def _bar(label: str, plan: MemoryPlan) -> Text:
    """Draw base and peak against the limit."""
    needed, limit = plan.base_bytes + plan.predicted_peak_bytes, max(1, plan.limit_bytes)
    scale = _BAR / max(needed, limit)
    base, whole, end = (round(size * scale) for size in (plan.base_bytes, needed, limit))
    color = "green" if plan.fits else "red"
    bar = Text(f"{label:<9}", style="cyan")
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
