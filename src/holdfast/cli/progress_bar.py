"""Progress of long work on standard error: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.progress import Progress as Told

_LINES = 10  # so many plain lines from start to end


@contextmanager
def progress(what: str, unit: str) -> Iterator[Told]:
    """Give a function to report progress to: how many units are done, and how many there are."""
    if sys.stderr.isatty():
        with _bar(what, unit) as report:
            yield report
    else:
        yield _lines(what, unit)


@contextmanager
def _bar(what: str, unit: str) -> Iterator[Told]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(f"{unit}, {{task.fields[rate]}} a second,"),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
    )
    start = time.monotonic()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, rate="-")

        def report(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, rate=_rate(done, start))

        yield report


def _lines(what: str, unit: str) -> Told:
    start = time.monotonic()
    reported = 0

    def report(done: int, total: int) -> None:
        nonlocal reported
        step = done * _LINES // max(total, 1)
        if step > reported:
            reported = step
            left = (time.monotonic() - start) * (total - done) / max(done, 1)
            rate = f"{_rate(done, start)} a second, {left:.0f} s left"
            print(f"{what}: {done} of {total} {unit}, {rate}", file=sys.stderr, flush=True)

    return report


def _rate(done: int, start: float) -> str:
    rate = done / max(time.monotonic() - start, 1e-3)
    return f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}"
