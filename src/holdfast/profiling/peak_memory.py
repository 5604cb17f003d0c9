"""What is held when a step holds most: memory by the operation that took it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.profiling.trace_file import Allocation


class PeakMemory(NamedTuple):
    """The largest amount that an allocator held during the trace."""

    bytes: int
    by_name: dict[str, int]  # by the name of the operation; "": not known
    held_before: int  # taken before the trace began: weights, what the optimizer remembers


def peak_memory(allocations: Sequence[Allocation]) -> PeakMemory:
    """Find the peak of the allocator that holds most; nothing where none was traced."""
    highest: Counter[str] = Counter()
    for each in allocations:
        highest[each.allocator] = max(highest[each.allocator], each.total_bytes)
    if not highest:
        return PeakMemory(0, {}, 0)
    allocator = max(highest, key=lambda name: highest[name])
    own = [each for each in allocations if each.allocator == allocator]
    held: dict[int, Allocation] = {}
    peak, at_peak = 0, dict[int, Allocation]()
    for each in own:
        if each.is_taken:
            held[each.address] = each
        else:
            held.pop(each.address, None)
        if each.is_taken and each.total_bytes > peak:
            peak, at_peak = each.total_bytes, dict(held)
    by_name: Counter[str] = Counter()
    for each in at_peak.values():
        by_name[each.name] += each.bytes
    known = sum(by_name.values())
    return PeakMemory(peak, dict(by_name), max(peak - known, 0))
