"""What a trace says about a step: its time by layer and by operation, its memory by layer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.profiling.operation_names import item_name, kind_name, row_name
from holdfast.profiling.peak_memory import PeakMemory, peak_memory
from holdfast.profiling.time_shares import TimeShares, time_shares
from holdfast.profiling.trace_file import read_trace
from holdfast.runs.trace_marks import WAITING_MARK

BETWEEN = "between operations"
HELD = "weights, and all held before"
UNNAMED = "input, and others without a name"


@dataclass(frozen=True, kw_only=True)
class ProfileRow:
    """A layer, an operation, or another part of a step."""

    name: str
    seconds: float  # of one step
    share: float  # of the step; those of all rows add up to 1
    bytes: int  # that it holds when the step holds most


@dataclass(frozen=True, kw_only=True)
class StepProfile:
    """The mean of the steps of a trace; rows with the most expensive first."""

    steps: int
    step_seconds: float  # with the wait for input
    input_seconds: float
    layers: tuple[ProfileRow, ...]
    operations: tuple[ProfileRow, ...]
    peak_bytes: int
    items: Mapping[str, int]  # the peak by the items of a memory plan
    trace: Path  # the folder that TensorBoard takes

    def document(self) -> dict[str, Any]:
        """Give it as JSON values."""
        return {
            "steps": self.steps,
            "step_seconds": self.step_seconds,
            "input_seconds": self.input_seconds,
            "layers": [vars(each) for each in self.layers],
            "operations": [vars(each) for each in self.operations],
            "peak_bytes": self.peak_bytes,
            "items": dict(self.items),
            "trace": str(self.trace),
        }


def profile_of(file: Path, folder: Path) -> StepProfile:
    """Read the trace in a file; folder: the one that TensorBoard takes."""
    trace = read_trace(file)
    if not trace.steps:
        raise HoldfastError(
            f"{file} has no steps of a training in it.", fix="Make a trace with `holdfast profile`."
        )
    shares, peak = time_shares(trace), peak_memory(trace.allocations)
    count = len(trace.steps)
    items: Counter[str] = Counter({HELD: peak.held_before})
    for name, held in peak.by_name.items():
        items[item_name(name) if name else UNNAMED] += held
    return StepProfile(
        steps=count,
        step_seconds=shares.total / count,
        input_seconds=shares.waiting / count,
        layers=_rows(shares, peak, count, row_name),
        operations=_rows(shares, peak, count, lambda name, kind: kind_name(kind)),
        peak_bytes=peak.bytes,
        items=dict(items.most_common()),
        trace=folder,
    )


def _rows(
    shares: TimeShares, peak: PeakMemory, steps: int, named: Callable[[str, str], str]
) -> tuple[ProfileRow, ...]:
    seconds: defaultdict[str, float] = defaultdict(float)
    seconds |= {WAITING_MARK: shares.waiting, BETWEEN: shares.idle}
    kinds = dict(shares.operations.keys())
    held: Counter[str] = Counter({HELD: peak.held_before})
    for (name, kind), spent in shares.operations.items():
        seconds[named(name, kind)] += spent
    for name, taken in peak.by_name.items():
        # What is not in the time of a step, such as the next batch, has no kind.
        held[named(name, kinds[name]) if name in kinds else UNNAMED] += taken
    names = sorted({*seconds, *held}, key=lambda each: (-seconds[each], each))
    return tuple(
        ProfileRow(
            name=name,
            seconds=seconds[name] / steps,
            share=seconds[name] / shares.total,
            bytes=held[name],
        )
        for name in names
    )
