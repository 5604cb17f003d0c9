"""What tensors make a process on the host hold: large ones in the allocator's arena or each alone.

TensorFlow's kernels of oneDNN bring an allocator that takes large tensors out of an arena, which
never gives memory back. Where they are off, each large tensor is mapped, and unmapped when freed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from holdfast.memory.devices.allocation import ARENA_BYTES
from holdfast.memory.predict import calibration
from holdfast.memory.predict.arena import Arena, Chunk
from holdfast.memory.predict.evaluation_phase import EvaluationPhase
from holdfast.memory.predict.lifetimes import Buffer, Lifetimes
from holdfast.memory.predict.traced_step import TracedStep

Runs = Sequence[Sequence[Lifetimes]]  # steps of each of some processes
_ENDLESS = 2**50


class Resident(NamedTuple):
    """The bytes of each tensor that is there before a step, and stays."""

    weights: tuple[int, ...]
    others: tuple[int, ...]

    @classmethod
    def of(cls, traced: TracedStep, batches: int) -> Resident:
        """List what a step finds; batches: of the input, alive at once."""
        others = traced.optimizer_slots + traced.averages + traced.teacher
        return cls(traced.weights, others + traced.input_batch * batches)

    @property
    def sizes(self) -> list[int]:
        """List all of them."""
        return [*self.weights, *self.others]


class HostMemory(NamedTuple):
    """What a process holds for tensors."""

    held_bytes: int = 0
    untouched_bytes: int = 0  # addresses that are taken besides, at most
    arena_bytes: int = 0  # that were reserved in one piece
    evaluation_bytes: int = 0  # that an evaluation adds to what is held


def mapped_memory(runs: Runs, resident: Resident, evaluation: EvaluationPhase | None) -> HostMemory:
    """Say what is held where every large tensor is mapped by itself, on average over the runs."""
    peaks = [max(step.peak() for step in steps) for steps in runs]
    peak = int(sum(peaks) / len(peaks) * (1.0 + calibration.ORDER_MARGIN))
    more = evaluation.peak_bytes - peak if evaluation is not None else 0
    return HostMemory(held_bytes=peak + sum(resident.sizes), evaluation_bytes=max(0, more))


def arena_memory(
    runs: Runs, resident: Resident, evaluation: EvaluationPhase | None, factor: float
) -> HostMemory:
    """Say what is held where large tensors lie in an arena, on average over the runs.

    factor: what is reserved in one piece, over what is used of it; 0 if nothing is.
    """
    reserved = 0
    if factor:
        endless = [_arena(steps, resident, _ENDLESS) for steps in runs]
        used = sum(arena.touched_bytes for arena in endless) // len(endless) - sum(resident.sizes)
        reserved = int(max(0, used) * factor)
    arenas = [_arena(steps, resident, reserved) for steps in runs]
    large = _mean_held(arenas)
    small = max(_small_peak(step) for step in runs[0])
    small += sum(size for size in resident.sizes if not is_large(size))
    memory = HostMemory(
        held_bytes=_with_margin(large) + small,
        untouched_bytes=max(arena.reserved_bytes - arena.touched_bytes for arena in arenas),
        arena_bytes=reserved,
    )
    if evaluation is None:
        return memory
    for arena, batches in zip(arenas, evaluation.runs, strict=True):
        _evaluate(arena, batches, evaluation.inputs)
    beside = sum(size for size in evaluation.inputs if not is_large(size))
    more = _small_peak(evaluation.runs[0][0]) + beside - small
    grown = _with_margin(_mean_held(arenas)) - _with_margin(large)
    return memory._replace(evaluation_bytes=grown + max(0, more))


def is_large(size: int) -> bool:
    """Tell whether so many bytes come out of the arena, where there is one."""
    return size >= ARENA_BYTES


def _with_margin(size: int) -> int:
    return int(size * (1.0 + calibration.ORDER_MARGIN))


def _small_peak(step: Lifetimes) -> int:
    return step.peak(lambda buffer: not is_large(buffer.piece_bytes))


def _mean_held(arenas: Sequence[Arena]) -> int:
    """Give what arenas hold: all they ever needed, and their own books."""
    held = (
        arena.touched_bytes + arena.reserved_bytes // calibration.ARENA_HANDLE_SHARE
        for arena in arenas
    )
    return sum(held) // len(arenas)


def _arena(steps: Sequence[Lifetimes], resident: Resident, reserved: int) -> Arena:
    """Give the arena after these steps; first come the weights, then what is reserved."""
    arena = Arena()
    for size in filter(is_large, resident.weights):
        passing = [arena.allocate(size) for _ in range(calibration.INITIALIZER_VALUES)]
        arena.allocate(size)
        for chunk in passing:
            arena.free(chunk)
    for size in filter(is_large, resident.others):
        arena.allocate(size)
    arena.reserve(reserved)
    _place_constants(steps[0], arena)
    for step in steps:
        _replay(step, arena)
    return arena


def _evaluate(arena: Arena, batches: Sequence[Lifetimes], inputs: Sequence[int]) -> None:
    """Let an evaluation take what it needs: of what the steps left free, or more."""
    for size in filter(is_large, inputs):
        arena.allocate(size)
    _place_constants(batches[0], arena)
    for batch in batches:
        _replay(batch, arena)


def _place_constants(step: Lifetimes, arena: Arena) -> None:
    for buffer in step.constants:
        if is_large(buffer.bytes):
            arena.allocate(buffer.bytes)


def _replay(step: Lifetimes, arena: Arena) -> None:
    held: dict[Buffer, list[Chunk]] = {}
    for buffer, is_made in step.events:
        if not is_large(buffer.piece_bytes):
            continue
        if is_made:
            held[buffer] = [arena.allocate(buffer.piece_bytes) for _ in range(buffer.pieces)]
        else:
            for chunk in held.pop(buffer):
                arena.free(chunk)
    for chunk in chain.from_iterable(held.values()):
        arena.free(chunk)
