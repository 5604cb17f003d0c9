"""What is held at the peak, by who took it."""

from __future__ import annotations

from holdfast.profiling.peak_memory import peak_memory
from holdfast.profiling.trace_file import Allocation


def event(time: float, address: int, size: int, total: int, name: str = "") -> Allocation:
    return Allocation(
        time=time,
        allocator="cpu",
        address=address,
        bytes=abs(size),
        name=name,
        is_taken=size > 0,
        total_bytes=total,
    )


def test_what_was_given_back_before_the_peak_is_not_in_it():
    found = peak_memory(
        [
            event(0, 1, 100, 150, "a"),
            event(1, 1, -100, 50),
            event(2, 2, 70, 120, "b"),
            event(3, 1, 40, 160, "c"),
            event(4, 2, -70, 90),
        ]
    )
    assert found.bytes == 160
    assert found.by_name == {"b": 70, "c": 40}
    assert found.held_before == 50


def test_the_allocator_that_holds_most_counts():
    small = event(0, 1, 10, 10, "small")._replace(allocator="other")
    found = peak_memory([small, event(1, 1, 30, 30, "large")])
    assert found.by_name == {"large": 30}


def test_nothing_traced_is_nothing_held():
    assert peak_memory([]) == (0, {}, 0)
