"""What `holdfast profile` prints."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.memory.plan import MemoryPlan
from holdfast.profiling.step_profile import ProfileRow, StepProfile
from holdfast.units import bytes_text, count_text, seconds_text


def print_profile(terminal: Console, profile: StepProfile, plan: MemoryPlan, top: int) -> None:
    """Print the tables, and how to see the trace itself."""
    steps = count_text(profile.steps, "step")
    terminal.print(
        f"a step takes [bold]{seconds_text(profile.step_seconds)}[/] (mean of {steps}), of it "
        f"{seconds_text(profile.input_seconds)} waiting for input"
    )
    terminal.print(_table("layers", profile.layers, top))
    terminal.print(_table("operations", profile.operations, top))
    terminal.print(_memory_table(profile, plan, top))
    terminal.print(Text(f"The trace: tensorboard --logdir {shlex.quote(str(profile.trace))}"))
    terminal.print("TensorBoard needs its plug-in for traces: pip install 'holdfast\\[profile]'")


def summary_text(profile: StepProfile, top: int = 5) -> str:
    """Say in a line what a step spends most time on."""
    most = ", ".join(f"{each.name} {each.share:.0%}" for each in profile.layers[:top])
    return f"A step takes {seconds_text(profile.step_seconds)}: {most}."


def _table(title: str, rows: Sequence[ProfileRow], top: int) -> Table:
    table = Table(box=None, header_style="cyan", padding=(0, 2, 0, 0))
    table.add_column(title)
    for name in ("ms a step", "share", "at the peak"):
        table.add_column(name, justify="right")
    for row in rows[:top]:
        _add(table, row)
    if rest := rows[top:]:
        total = ProfileRow(
            name=f"{count_text(len(rest), 'other')}",
            seconds=sum(each.seconds for each in rest),
            share=sum(each.share for each in rest),
            bytes=sum(each.bytes for each in rest),
        )
        _add(table, total)
    return table


def _add(table: Table, row: ProfileRow) -> None:
    held = bytes_text(row.bytes) if row.bytes else "-"
    table.add_row(row.name, f"{1000 * row.seconds:.3g}", f"{row.share:.1%}", held)


def _memory_table(profile: StepProfile, plan: MemoryPlan, top: int) -> Table:
    """Set what the plan expects at the peak beside what the allocator held."""
    table = Table(box=None, header_style="cyan", padding=(0, 2, 0, 0))
    table.add_column("memory at the peak")
    for name in ("plan, worst batch", "measured, these steps"):
        table.add_column(name, justify="right")
    both = {
        name: (plan.items.get(name), profile.items.get(name))
        for name in (*plan.items, *profile.items)
    }
    ranked = sorted(both, key=lambda name: -max(each or 0 for each in both[name]))
    for name in ranked[:top]:
        table.add_row(name, *(bytes_text(each) if each else "-" for each in both[name]))
    totals = (plan.predicted_peak_bytes, profile.peak_bytes)
    table.add_row("all", *map(bytes_text, totals))
    return table
