"""Reads a trace of TensorFlow's profiler: steps, waiting, operations by thread, allocations.

The file is read itself, and not by way of xprof's tables: those end after 500 operations and add up
the time of threads that work side by side, so that they are no shares of a step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.runs.trace_marks import STEP_MARK, WAITING_MARK

_HOST, _DEVICE = "/host:CPU", re.compile(r"/device:GPU:\d+")
_COMPUTES = "tf_Compute"  # threads of the host that run a step's operations
# An operation is written name:Type; C++ code of the runtime has names like Executor::Process.
_OPERATION = re.compile(r"(?P<name>[^:]+):(?P<kind>\w+)")
_ALLOCATION, _DEALLOCATION = "MemoryAllocation", "MemoryDeallocation"


class Interval(NamedTuple):
    """From when to when, in seconds since the trace began."""

    start: float
    end: float


class TracedOperation(NamedTuple):
    """One run of an operation."""

    name: str
    kind: str
    start: float  # seconds
    end: float


class Allocation(NamedTuple):
    """Memory that was taken, or given back (then bytes count for nothing)."""

    time: float  # seconds
    allocator: str
    address: int
    bytes: int
    name: str  # of the operation; "" where it is not known
    is_taken: bool
    total_bytes: int  # that the allocator holds then


class Trace(NamedTuple):
    """What a trace says."""

    steps: tuple[Interval, ...]
    waits: tuple[Interval, ...]
    threads: tuple[tuple[TracedOperation, ...], ...]  # of each, in the order of their start
    allocations: tuple[Allocation, ...]  # in their order


def read_trace(path: Path) -> Trace:
    """Read the file that the profiler wrote."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace()
    space.ParseFromString(path.read_bytes())
    planes = [_Plane(plane) for plane in space.planes]
    hosts = [plane for plane in planes if plane.name == _HOST]
    devices = [plane for plane in planes if _DEVICE.fullmatch(plane.name)]
    # Where a GPU computes, the host only hands work to it.
    threads = [thread for plane in devices for thread in plane.kernels()]
    if not threads:
        threads = [thread for plane in hosts for thread in plane.operations()]
    allocations = [each for plane in hosts for each in plane.allocations()]
    return Trace(
        steps=tuple(each for plane in hosts for each in plane.intervals(STEP_MARK)),
        waits=tuple(each for plane in hosts for each in plane.intervals(WAITING_MARK)),
        threads=tuple(tuple(sorted(each, key=lambda one: one.start)) for each in threads),
        allocations=tuple(sorted(allocations, key=lambda each: each.time)),
    )


class _Plane:
    """A host or a device, as the file has it."""

    def __init__(self, plane: Any) -> None:
        self.name: str = plane.name
        self._lines = plane.lines
        self._names = {key: value.name for key, value in plane.event_metadata.items()}
        self._statistics = {key: value.name for key, value in plane.stat_metadata.items()}

    def intervals(self, name: str) -> Iterator[Interval]:
        for line in self._lines:
            for event in line.events:
                if self._names[event.metadata_id] == name:
                    yield Interval(*_times(line, event))

    def operations(self) -> Iterator[list[TracedOperation]]:
        """Yield the operations of each thread that computes steps."""
        for line in self._lines:
            if line.name.startswith(_COMPUTES):
                yield [
                    TracedOperation(found["name"], found["kind"], *_times(line, event))
                    for event in line.events
                    if (found := _OPERATION.fullmatch(self._names[event.metadata_id]))
                ]

    def kernels(self) -> Iterator[list[TracedOperation]]:
        """Yield the kernels of each stream, under the names of the operations they belong to."""
        for line in self._lines:
            found = (
                (_OPERATION.match(str(self._values(event).get("tf_op", ""))), event)
                for event in line.events
            )
            kernels = [
                TracedOperation(name["name"], name["kind"], *_times(line, event))
                for name, event in found
                if name is not None
            ]
            if kernels:
                yield kernels

    def allocations(self) -> Iterator[Allocation]:
        for line in self._lines:
            for event in line.events:
                name = self._names[event.metadata_id]
                if name in (_ALLOCATION, _DEALLOCATION):
                    values = self._values(event)
                    yield Allocation(
                        time=_times(line, event)[0],
                        allocator=str(values.get("allocator_name", "")),
                        address=int(values.get("addr", 0)),
                        bytes=int(values.get("allocation_bytes", 0)),
                        name=str(values.get("tf_op", "")),
                        is_taken=name == _ALLOCATION,
                        total_bytes=int(values.get("bytes_allocated", 0)),
                    )

    def _values(self, event: Any) -> dict[str, Any]:
        return {self._statistics[each.metadata_id]: self._value(each) for each in event.stats}

    def _value(self, statistic: Any) -> Any:
        kind = statistic.WhichOneof("value")
        value = getattr(statistic, kind) if kind else 0
        return self._statistics[value] if kind == "ref_value" else value


def _times(line: Any, event: Any) -> tuple[float, float]:
    start = line.timestamp_ns * 1e-9 + event.offset_ps * 1e-12
    return start, start + event.duration_ps * 1e-12
