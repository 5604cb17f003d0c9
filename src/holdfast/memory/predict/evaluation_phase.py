"""What an evaluation between two steps needs: its graph followed, beside what is alive then."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.memory.devices.host import operation_threads
from holdfast.memory.predict import calibration
from holdfast.memory.predict.lifetimes import Lifetimes
from holdfast.memory.predict.optimized_graph import optimized_graph
from holdfast.memory.predict.simulated_runs import simulated_runs
from holdfast.memory.predict.step_graph import StepGraph
from holdfast.memory.predict.traced_step import TracedEvaluation

_BATCHES = 2  # followed in each process: the arena still grows a little after the first one


@dataclass(frozen=True, kw_only=True)
class EvaluationPhase:
    """An evaluation, followed. It is the same however the steps are computed."""

    graph: StepGraph
    runs: tuple[tuple[Lifetimes, ...], ...]  # batches of each of some processes
    inputs: tuple[int, ...]  # bytes of each tensor of the batches that are alive at once

    @property
    def peak_bytes(self) -> int:
        """Give the most bytes of tensors alive at once, besides weights."""
        return self.runs[0][0].peak() + sum(self.inputs)


def follow_evaluation(
    traced: TracedEvaluation, *, device: str = "cpu", threads: int | None = None
) -> EvaluationPhase:
    """Optimize and follow the graph of an evaluation."""
    graph = optimized_graph(traced.graph, traced.largest)
    on_host = device == "cpu"
    runs = simulated_runs(
        graph,
        threads or operation_threads(),
        count=calibration.SIMULATED_RUNS if on_host else 1,
        steps=_BATCHES if on_host else 1,
    )
    return EvaluationPhase(graph=graph, runs=runs, inputs=traced.input_batch * traced.batches)
