"""Who a step's time belongs to: each moment is divided among the operations that run in it.

Threads work side by side, so that the times of operations add up to more than the step. Divided
like this, all parts together are the step: operations, waiting for input, and the rest in which
nothing runs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from holdfast.profiling.trace_file import Interval, Trace, TracedOperation


class TimeShares(NamedTuple):
    """Seconds, over all steps of a trace."""

    operations: dict[tuple[str, str], float]  # by name and kind
    waiting: float
    idle: float  # neither waiting nor computing
    total: float


class _Piece(NamedTuple):
    """A time in which a thread is at one thing, and at nothing inside of it."""

    start: float
    end: float
    key: tuple[str, str] | None  # of the operation; None: waiting for input


def time_shares(trace: Trace) -> TimeShares:
    """Divide the time of the steps in a trace."""
    shares: defaultdict[tuple[str, str], float] = defaultdict(float)
    waiting = 0.0
    pieces = [piece for thread in trace.threads for piece in own_pieces(thread)]
    pieces += [_Piece(wait.start, wait.end, None) for wait in trace.waits]
    for seconds, active in _moments(_inside(pieces, trace.steps)):
        if active[None]:
            waiting += seconds
        else:
            for key, count in active.items():
                if key is not None:
                    shares[key] += seconds * count / active.total()
    total = sum(step.end - step.start for step in trace.steps)
    busy = waiting + sum(shares.values())
    return TimeShares(dict(shares), waiting, max(total - busy, 0.0), total)


def own_pieces(thread: Sequence[TracedOperation]) -> Iterator[_Piece]:
    """Yield the times of a thread's operations without those of operations inside of them."""
    open_ones: list[tuple[TracedOperation, float]] = []  # and until when it is accounted for
    for operation in sorted(thread, key=lambda each: (each.start, -each.end)):
        while open_ones and open_ones[-1][0].end <= operation.start:
            yield from _closed(open_ones)
        if open_ones:
            outer, since = open_ones[-1]
            if operation.start > since:
                yield _Piece(since, operation.start, (outer.name, outer.kind))
        open_ones.append((operation, operation.start))
    while open_ones:
        yield from _closed(open_ones)


def _closed(open_ones: list[tuple[TracedOperation, float]]) -> Iterator[_Piece]:
    operation, since = open_ones.pop()
    if operation.end > since:
        yield _Piece(since, operation.end, (operation.name, operation.kind))
    if open_ones:
        outer, before = open_ones[-1]
        open_ones[-1] = (outer, max(before, operation.end))


def _inside(pieces: Iterable[_Piece], steps: Sequence[Interval]) -> Iterator[_Piece]:
    """Keep what lies in a step; steps follow each other."""
    ordered = sorted(steps)
    at = 0
    for piece in sorted(pieces, key=lambda each: each.start):
        while at < len(ordered) and ordered[at].end <= piece.start:
            at += 1
        for step in ordered[at:]:
            if step.start >= piece.end:
                break
            yield piece._replace(start=max(piece.start, step.start), end=min(piece.end, step.end))


def _moments(
    pieces: Iterable[_Piece],
) -> Iterator[tuple[float, Counter[tuple[str, str] | None]]]:
    """Yield each time in which the same things run, and what they are."""
    edges = [
        edge
        for piece in pieces
        for edge in ((piece.start, 1, piece.key), (piece.end, -1, piece.key))
    ]
    edges.sort(key=lambda edge: (edge[0], edge[1]))
    active: Counter[tuple[str, str] | None] = Counter()
    before = 0.0
    for time, change, key in edges:
        if time > before and active:
            yield time - before, active
        before = time
        active[key] += change
        if not active[key]:
            del active[key]
