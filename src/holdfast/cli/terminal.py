"""How things look on the terminal: panels, problems, errors."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from holdfast.errors import HoldfastError, Problem

if TYPE_CHECKING:
    from holdfast.config.summary import SummaryRow


@cache
def console() -> Console:
    """Give the console of standard output; as wide as the terminal, 100 when there is none."""
    width = None if sys.stdout.isatty() else 100
    return Console(width=width, highlight=False, soft_wrap=False)


@cache
def error_console() -> Console:
    """Give the console of standard error, for what people read while standard output has JSON."""
    return Console(stderr=True, width=None if sys.stderr.isatty() else 100, highlight=False)


def print_error(error: HoldfastError) -> None:
    """Print what went wrong and what to do, on standard error."""
    stderr = Console(stderr=True, highlight=False)
    stderr.print(Text("error: ", style="bold red") + Text(error.message))
    if error.fix:
        stderr.print(Text(error.fix))


def summary_panel(title: str, rows: Iterable[SummaryRow]) -> Panel:
    """Show label and text of each row, the labels of equal rows once."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    previous = ""
    for row in rows:
        table.add_row("" if row.label == previous else row.label, Text(row.text))
        previous = row.label
    return Panel(table, title=Text(title, style="bold"), title_align="left", border_style="dim")


def problem_list(problems: Iterable[Problem]) -> RenderableType:
    """Show each problem with its line, field, message and fix."""
    return Group(*(_problem(problem) for problem in problems))


def _problem(problem: Problem) -> RenderableType:
    is_error = problem.severity == "error"
    head = Text("error" if is_error else "warning", style="bold red" if is_error else "bold yellow")
    if problem.line:
        head.append(f" line {problem.line}", style="bold default")
    if problem.path:
        head.append(f"  {problem.path}", style="cyan not bold")
    lines = [Text(problem.message)]
    if problem.fix:
        lines.append(Text(f"→ {problem.fix}", style="green"))
    return Group(head, *(Padding(line, (0, 0, 0, 4), expand=False) for line in lines))
