"""A command that trains runs as two processes: one that trains, and one that starts it again."""

from __future__ import annotations

import sys
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from holdfast.cli.terminal import print_error
from holdfast.training.surviving.supervised import (
    end_with_program,
    join_supervisor,
    needs_supervisor,
)
from holdfast.training.surviving.supervisor import FAILED, TrainingDiedError, supervise


def supervised(terminal: Console, run: Path, memory_bytes: int | None = None) -> None:
    """Return in the process that is to train; the one that watches over it ends in here.

    run: where the command trains. memory_bytes: what the training may hold (--memory).
    """
    end_with_program()
    if not (needs_supervisor() and _is_own_process()):
        join_supervisor()
        return

    def tell(text: str) -> None:
        _end_display(terminal)
        terminal.print(Text("note: ", style="bold") + Text(text))

    try:
        code = supervise(sys.orig_argv, run, tell, memory_bytes=memory_bytes)
    except TrainingDiedError as error:
        _end_display(terminal)
        print_error(error)
        raise typer.Exit(FAILED) from error
    raise typer.Exit(code)


def _is_own_process() -> bool:
    """Tell whether this process was started for the command, and is not a program that calls it."""
    own = sys.argv[1:]
    return bool(sys.executable) and sys.orig_argv[len(sys.orig_argv) - len(own) :] == own


def _end_display(terminal: Console) -> None:
    """Leave the line, and bring back the cursor, of bars that nobody ended."""
    if terminal.is_terminal:
        terminal.show_cursor()
        terminal.print()
