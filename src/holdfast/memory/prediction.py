"""The peak memory of a traced step, predicted by following its tensors through the allocator."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from holdfast.memory import calibration
from holdfast.memory.allocation import ARENA_BYTES
from holdfast.memory.arena import ROUNDING, Arena, Chunk
from holdfast.memory.arithmetic import graph_flops, input_shapes, step_flops
from holdfast.memory.host import core_count
from holdfast.memory.items import (
    ACCUMULATORS,
    ALLOCATOR,
    AVERAGES,
    INPUT,
    RUNTIME,
    SLOTS,
    WEIGHTS,
    Grouping,
    largest_activations,
)
from holdfast.memory.lifetimes import Buffer, Lifetimes, Workers, follow
from holdfast.memory.operations import ALIASES
from holdfast.memory.optimized_graph import optimized_graph
from holdfast.memory.plan import Activation
from holdfast.memory.step_graph import Node, StepGraph
from holdfast.memory.traced_step import TracedStep

_ENDLESS = 2**50


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What a step will need above what the process held before the detector was built."""

    peak_bytes: int
    items: dict[str, int]  # their sum is peak_bytes
    block_bytes: dict[str, int]  # block -> activations of it that are alive at the peak
    largest_activations: tuple[Activation, ...]
    step_flops: int
    assumptions: tuple[str, ...]
    arena_bytes: int = 0  # to be reserved in one piece before the first step
    untouched_bytes: int = 0  # addresses that the allocator has on top and never uses


def predict(
    traced: TracedStep,
    *,
    device: str = "cpu",
    batches: int = 1,
    threads: int | None = None,
    reserves: bool = True,
) -> Prediction:
    """Predict the peak.

    device: cpu, or gpu. batches: how many batches of the input are alive at once, the one in use
    included. threads: that run operations at the same time; by default one a core, as TensorFlow
    does. reserves: whether memory for large tensors will be taken in one piece before.
    """
    return predict_graph(
        optimized_graph(traced.graph),
        traced,
        device=device,
        batches=batches,
        threads=threads or core_count(),
        reserves=reserves,
    )


def predict_graph(
    graph: StepGraph,
    traced: TracedStep,
    *,
    device: str,
    batches: int,
    threads: int,
    reserves: bool,
) -> Prediction:
    """Do the same for a graph that is optimised already; of the traced step, the rest counts."""
    flops = graph_flops(graph)
    count, steps = calibration.SIMULATED_RUNS, calibration.SIMULATED_STEPS
    if device == "gpu":
        count = steps = 1
    runs = _runs(graph, flops, threads, count=count, steps=steps)
    first = runs[0][0]
    alive = first.alive_at_peak()
    grouping = Grouping(graph, traced.blocks)
    items = _resident_items(traced, batches) | grouping.totals(alive)
    if traced.accumulation > 1:
        # From the second round on, sums and new gradients live in places of their own.
        items[ACCUMULATORS] = items.get(ACCUMULATORS, 0) + sum(traced.weights)
    resident, host = _Resident.of(traced, batches), _Host(0, 0, 0)
    if device == "gpu":
        items[ALLOCATOR] = _rounding([each.bytes for each in alive] + resident.sizes)
    else:
        host = _host(runs, resident, _arena_factor(traced.accumulation) if reserves else 0.0)
        items[ALLOCATOR] = host.held_bytes - sum(resident.sizes) - first.peak()
        items[RUNTIME] = calibration.graph_bytes(graph)
    return Prediction(
        peak_bytes=sum(items.values()),
        items=items,
        block_bytes=grouping.block_bytes(alive),
        largest_activations=largest_activations(alive, grouping),
        step_flops=step_flops(graph, traced.accumulation),
        assumptions=tuple(_assumptions(graph, device, batches)),
        arena_bytes=host.arena_bytes,
        untouched_bytes=host.untouched_bytes,
    )


def _runs(
    graph: StepGraph, flops: Mapping[str, int], threads: int, *, count: int, steps: int
) -> list[list[Lifetimes]]:
    """Follow some steps in each of some processes: the order in which threads work is chance."""
    nodes = {node.name: node for node in graph.nodes}
    seconds = {
        node.name: calibration.rough_seconds(flops[node.name], _moved_bytes(node, nodes))
        for node in graph.nodes
    }
    runs = []
    for run in range(count):
        chance = random.Random(run)
        spread = calibration.SPEED_SPREAD
        guessed = {
            name: each * chance.lognormvariate(0.0, spread) for name, each in seconds.items()
        }
        workers = Workers(count=threads, seconds=guessed, jitter=calibration.TIME_JITTER)
        runs.append([follow(graph, workers=replace(workers, seed=step)) for step in range(steps)])
    return runs


def _moved_bytes(node: Node, nodes: Mapping[str, Node]) -> int:
    if node.operation in ALIASES:
        return 0
    shapes = [*node.outputs, *(each for each in input_shapes(node, nodes) if each is not None)]
    return sum(shape.bytes for shape in shapes)


class _Resident(NamedTuple):
    """The bytes of each tensor that is there before a step, and stays."""

    weights: tuple[int, ...]
    others: tuple[int, ...]

    @classmethod
    def of(cls, traced: TracedStep, batches: int) -> _Resident:
        others = traced.optimizer_slots + traced.averages + traced.input_batch * batches
        return cls(traced.weights, others)

    @property
    def sizes(self) -> list[int]:
        return [*self.weights, *self.others]


class _Host(NamedTuple):
    held_bytes: int
    untouched_bytes: int  # addresses that are taken besides, at most
    arena_bytes: int  # that were reserved in one piece


def _host(runs: Sequence[Sequence[Lifetimes]], resident: _Resident, factor: float) -> _Host:
    """Say what tensors make a process hold, on average over the runs.

    factor: what is reserved in one piece, over what is used of it; 0 if nothing is.
    """
    if not factor:
        return _simulated(runs, resident, 0)
    endless = [_arena(steps, resident, _ENDLESS) for steps in runs]
    used = sum(arena.touched_bytes for arena in endless) // len(endless) - sum(resident.sizes)
    return _simulated(runs, resident, int(max(0, used) * factor))


def _arena_factor(accumulation: int) -> float:
    return calibration.ARENA_FACTOR if accumulation == 1 else calibration.ARENA_FACTOR_OF_PIECES


def _simulated(runs: Sequence[Sequence[Lifetimes]], resident: _Resident, arena_bytes: int) -> _Host:
    arenas = [_arena(steps, resident, arena_bytes) for steps in runs]
    large = sum(_held_bytes(arena) for arena in arenas) // len(arenas)
    small = max(step.peak(lambda buffer: not _is_large(buffer.bytes)) for step in runs[0])
    small += sum(size for size in resident.sizes if not _is_large(size))
    return _Host(
        held_bytes=int(large * (1.0 + calibration.ORDER_MARGIN)) + small,
        untouched_bytes=max(arena.reserved_bytes - arena.touched_bytes for arena in arenas),
        arena_bytes=arena_bytes,
    )


def _held_bytes(arena: Arena) -> int:
    """Give what an arena holds: all it ever needed, and its own books."""
    return arena.touched_bytes + arena.reserved_bytes // calibration.ARENA_HANDLE_SHARE


def _arena(steps: Sequence[Lifetimes], resident: _Resident, reserved: int) -> Arena:
    """Give the arena after these steps; first come the weights, then what is reserved."""
    arena = Arena()
    for size in filter(_is_large, resident.weights):
        passing = [arena.allocate(size) for _ in range(calibration.INITIALIZER_VALUES)]
        arena.allocate(size)
        for chunk in passing:
            arena.free(chunk)
    for size in filter(_is_large, resident.others):
        arena.allocate(size)
    arena.reserve(reserved)
    for buffer in steps[0].constants:
        if _is_large(buffer.bytes):
            arena.allocate(buffer.bytes)
    for step in steps:
        _replay(step, arena)
    return arena


def _replay(step: Lifetimes, arena: Arena) -> None:
    held: dict[Buffer, Chunk] = {}
    for buffer, is_made in step.events:
        if not _is_large(buffer.bytes):
            continue
        if is_made:
            held[buffer] = arena.allocate(buffer.bytes)
        else:
            arena.free(held.pop(buffer))
    for chunk in held.values():
        arena.free(chunk)


def _is_large(size: int) -> bool:
    return size >= ARENA_BYTES


def _rounding(sizes: Sequence[int]) -> int:
    return sum(-size % ROUNDING for size in sizes)


def _resident_items(traced: TracedStep, batches: int) -> dict[str, int]:
    return {
        WEIGHTS: sum(traced.weights),
        SLOTS: sum(traced.optimizer_slots),
        AVERAGES: sum(traced.averages),
        INPUT: sum(traced.input_batch) * batches,
    }


def _assumptions(graph: StepGraph, device: str, batches: int) -> Iterator[str]:
    yield f"{batches} batch{'es' if batches > 1 else ''} of the input in memory at once"
    if graph.unknown:
        names = ", ".join(graph.unknown[:3])
        yield f"{len(graph.unknown)} tensors have a shape the graph does not tell ({names}, …)"
    if device == "gpu":
        yield "not measured on a GPU: workspaces of cuDNN and the CUDA context are not counted"
