"""The peak memory of a traced step, predicted by following its tensors through the allocator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.errors import HoldfastError
from holdfast.memory.devices.host import operation_threads
from holdfast.memory.plan import BlockActivation
from holdfast.memory.predict import calibration
from holdfast.memory.predict.arena import ROUNDING
from holdfast.memory.predict.arithmetic import step_flops
from holdfast.memory.predict.evaluation_phase import EvaluationPhase
from holdfast.memory.predict.host_memory import (
    HostMemory,
    Resident,
    Runs,
    arena_memory,
    mapped_memory,
)
from holdfast.memory.predict.items import (
    ACCUMULATORS,
    ALLOCATOR,
    AVERAGES,
    EVALUATION,
    INPUT,
    MANY_SHAPES,
    RUNTIME,
    SLOTS,
    TEACHER_WEIGHTS,
    WEIGHTS,
    Grouping,
    largest_activations,
)
from holdfast.memory.predict.lifetimes import Buffer, Lifetimes
from holdfast.memory.predict.optimized_graph import optimized_graph
from holdfast.memory.predict.simulated_runs import simulated_runs
from holdfast.memory.predict.step_graph import StepGraph
from holdfast.memory.predict.traced_step import TracedStep


class UnpredictableError(HoldfastError):
    """Too much of a graph has a size that nobody knows beforehand."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What a step will need above what the process held before the detector was built."""

    peak_bytes: int
    items: dict[str, int]  # their sum is peak_bytes
    block_bytes: dict[str, int]  # block -> activations of it that are alive at the peak
    largest_activations: tuple[BlockActivation, ...]
    step_flops: int
    assumptions: tuple[str, ...]
    arena_bytes: int = 0  # to be reserved in one piece before the first step
    untouched_bytes: int = 0  # addresses that the allocator has on top and never uses


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What is known about the process that the step will run in."""

    device: str = "cpu"  # or gpu
    batches: int = 1  # of the input, alive at once, the one in use included
    threads: int | None = (
        None  # that run operations at the same time; None: TensorFlow's own choice
    )
    reserves: bool = True  # memory for large tensors is taken in one piece before the first step
    has_arena: bool = True  # on the host, large tensors come out of an arena of the allocator
    evaluation: EvaluationPhase | None = None  # between steps
    many_shapes: bool = False  # one traced step computes batches of many heights and widths


def predict(traced: TracedStep, surroundings: Surroundings | None = None) -> Prediction:
    """Predict the peak; HoldfastError where too much of the graph is not known."""
    graph = optimized_graph(traced.graph, traced.largest)
    return predict_graph(graph, traced, surroundings or Surroundings())


def predict_graph(graph: StepGraph, traced: TracedStep, around: Surroundings) -> Prediction:
    """Do the same for a graph that is optimized already; of the traced step, the rest counts."""
    refuse_unknown(graph, "training step")
    on_host, evaluation = around.device == "cpu", around.evaluation
    if evaluation is not None:
        refuse_unknown(evaluation.graph, "evaluation")
    runs = simulated_runs(
        graph,
        around.threads or operation_threads(),
        count=calibration.SIMULATED_RUNS if on_host else 1,
        steps=calibration.SIMULATED_STEPS if on_host else 1,
    )
    alive = runs[0][0].alive_at_peak()
    grouping = Grouping(graph, traced.blocks)
    items = _resident_items(traced, around.batches) | grouping.totals(alive)
    if traced.accumulation > 1:
        # From the second round on, sums and new gradients live in places of their own.
        items[ACCUMULATORS] = items.get(ACCUMULATORS, 0) + sum(traced.weights)
    resident = Resident.of(traced, around.batches)
    host = _host_memory(runs, resident, traced, around) if on_host else HostMemory()
    items |= _outside_items(runs[0][0], alive, resident, host, graph, around)
    return Prediction(
        peak_bytes=sum(items.values()),
        items=items,
        block_bytes=grouping.block_bytes(alive),
        largest_activations=largest_activations(alive, grouping),
        step_flops=step_flops(graph, traced.accumulation),
        assumptions=tuple(_assumptions(graph, around)),
        arena_bytes=host.arena_bytes,
        untouched_bytes=host.untouched_bytes,
    )


def refuse_unknown(graph: StepGraph, what: str) -> None:
    """Raise where a figure would stand on guesses."""
    if graph.unknown_share <= calibration.MOST_UNKNOWN:
        return
    names = ", ".join(graph.unknown[:3])
    raise UnpredictableError(
        f"The memory of the {what} cannot be predicted: {len(graph.unknown)} tensors, about "
        f"{graph.unknown_share:.0%} of its bytes, have a size that the graph does not tell "
        f"({names}, …).",
        fix="Give those parts of the network shapes that are fixed or bounded, or measure: "
        "train some steps and read measured_peak_bytes in the run's manifest.json.",
    )


def _host_memory(
    runs: Runs, resident: Resident, traced: TracedStep, around: Surroundings
) -> HostMemory:
    if not around.has_arena:
        return mapped_memory(runs, resident, around.evaluation)
    is_whole = traced.accumulation == 1
    factor = calibration.ARENA_FACTOR if is_whole else calibration.ARENA_FACTOR_OF_PIECES
    return arena_memory(runs, resident, around.evaluation, factor if around.reserves else 0.0)


def _outside_items(
    first: Lifetimes,
    alive: Sequence[Buffer],
    resident: Resident,
    host: HostMemory,
    graph: StepGraph,
    around: Surroundings,
) -> dict[str, int]:
    """Give what is held besides the tensors of a step; an evaluation only adds what it has more."""
    evaluation = around.evaluation
    if around.device == "gpu":
        more = evaluation.peak_bytes - first.peak() if evaluation is not None else 0
        rounding = _rounding([each.bytes for each in alive] + resident.sizes)
        return {ALLOCATOR: rounding} | ({EVALUATION: max(0, more)} if evaluation else {})
    items = {
        ALLOCATOR: host.held_bytes - sum(resident.sizes) - first.peak(),
        RUNTIME: calibration.RUNTIME_BYTES + calibration.graph_bytes(graph),
    }
    if around.many_shapes:
        items[MANY_SHAPES] = calibration.many_shapes_bytes(around.threads or operation_threads())
    if evaluation is not None:
        items[EVALUATION] = host.evaluation_bytes + calibration.graph_bytes(evaluation.graph)
    return items


def _rounding(sizes: Sequence[int]) -> int:
    return sum(-size % ROUNDING for size in sizes)


def _resident_items(traced: TracedStep, batches: int) -> dict[str, int]:
    return {
        WEIGHTS: sum(traced.weights),
        SLOTS: sum(traced.optimizer_slots),
        AVERAGES: sum(traced.averages),
        INPUT: sum(traced.input_batch) * batches,
    } | ({TEACHER_WEIGHTS: sum(traced.teacher)} if traced.teacher else {})


def _assumptions(graph: StepGraph, around: Surroundings) -> Iterator[str]:
    batches = around.batches
    yield f"{batches} batch{'es' if batches > 1 else ''} of the input in memory at once"
    if graph.unknown:
        names = ", ".join(graph.unknown[:3])
        yield f"{len(graph.unknown)} tensors have a size the graph does not tell ({names}, …)"
    if around.device == "gpu":
        yield "not measured on a GPU: workspaces of cuDNN and the CUDA context are not counted"
