"""Time divided among what runs: nothing is lost, and nothing counted twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.profiling.time_shares import own_pieces, time_shares
from holdfast.profiling.trace_file import Interval, Trace, TracedOperation


def operation(name: str, start: float, end: float) -> TracedOperation:
    return TracedOperation(name, "Kind", start, end)


def shares(*threads, steps=((0, 10),), waits=()) -> dict[str, float]:
    trace = Trace(
        steps=tuple(Interval(*each) for each in steps),
        waits=tuple(Interval(*each) for each in waits),
        threads=tuple(tuple(operation(*each) for each in thread) for thread in threads),
        allocations=(),
    )
    found = time_shares(trace)
    named = {name: seconds for (name, _), seconds in found.operations.items()}
    return named | {"waiting": found.waiting, "idle": found.idle, "total": found.total}


def test_two_threads_share_the_time_in_which_both_work():
    found = shares([("a", 0, 6)], [("b", 4, 8)])
    assert found == pytest.approx({"a": 4 + 1, "b": 1 + 2, "waiting": 0, "idle": 2, "total": 10})


def test_an_operation_inside_of_another_takes_its_time_from_it():
    found = shares([("outer", 0, 8), ("inner", 2, 5), ("innermost", 3, 4)])
    assert found["outer"] == pytest.approx(5)
    assert found["inner"] == pytest.approx(2)
    assert found["innermost"] == pytest.approx(1)


def test_waiting_for_input_is_waiting_whatever_runs_beside_it():
    found = shares([("a", 0, 10)], waits=[(0, 3)])
    assert (found["waiting"], found["a"]) == pytest.approx((3, 7))


def test_what_runs_between_steps_is_not_part_of_them():
    found = shares([("a", 1, 9)], steps=((0, 2), (8, 12)))
    assert found["a"] == pytest.approx(2)
    assert found["total"] == 6


spans = st.tuples(st.integers(0, 40), st.integers(1, 20)).map(lambda each: (each[0], sum(each)))


@given(st.lists(st.lists(spans, max_size=6), max_size=4), st.lists(spans, max_size=2))
def test_all_parts_together_are_the_step(threads, waits):
    # Operations of one thread lie beside or inside of each other, never across.
    nested = [_nested(thread) for thread in threads]
    named = [[(f"{t}.{i}", *span) for i, span in enumerate(each)] for t, each in enumerate(nested)]
    found = shares(*named, steps=((5, 25), (30, 50)), waits=waits)
    total = found.pop("total")
    assert sum(found.values()) == pytest.approx(total)
    assert all(value >= 0 for value in found.values())


def _nested(thread):
    kept: list[tuple[int, int]] = []
    for start, end in thread:
        if all(end <= a or start >= b or (a <= start and end <= b) for a, b in kept):
            kept.append((start, end))
    return kept


def test_pieces_of_a_thread_never_overlap():
    thread = [operation("a", 0, 10), operation("b", 1, 3), operation("c", 3, 9)]
    pieces = sorted(own_pieces(thread))
    assert [(piece.start, piece.end) for piece in pieces] == [(0, 1), (1, 3), (3, 9), (9, 10)]
