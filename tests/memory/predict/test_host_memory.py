"""Steps and evaluations made by hand, of which what a process holds is known."""

from __future__ import annotations

import pytest

from holdfast.memory.predict.calibration import ORDER_MARGIN
from holdfast.memory.predict.evaluation_phase import EvaluationPhase
from holdfast.memory.predict.host_memory import HostMemory, Resident, arena_memory, mapped_memory
from holdfast.memory.predict.lifetimes import Buffer, Lifetimes, MemoryEvent
from holdfast.memory.predict.step_graph import GraphNode, StepGraph

MIB = 1 << 20
WEIGHTS = Resident(weights=(4 * MIB,), others=())
NODE = GraphNode(name="a", operation="Conv2D")


def lifetimes(*sizes: int, pieces: int = 1) -> Lifetimes:
    """Make tensors one after the other, all alive at the end."""
    buffers = [Buffer(NODE, size, pieces=pieces) for size in sizes]
    made = [MemoryEvent(each, True) for each in buffers]
    freed = [MemoryEvent(each, False) for each in buffers]
    return Lifetimes(constants=(), events=(*made, *freed))


def evaluation(*sizes: int, inputs: tuple[int, ...] = ()) -> EvaluationPhase:
    graph = StepGraph(nodes=(NODE,), traced_nodes=1)
    return EvaluationPhase(graph=graph, runs=((lifetimes(*sizes),),), inputs=inputs)


def in_arena(step: Lifetimes, phase: EvaluationPhase | None) -> HostMemory:
    return arena_memory([[step]], WEIGHTS, phase, factor=1.5)


def mapped(step: Lifetimes, phase: EvaluationPhase | None) -> HostMemory:
    return mapped_memory([[step]], WEIGHTS, phase)


@pytest.mark.parametrize("memory", [in_arena, mapped])
def test_an_evaluation_that_fits_into_what_a_step_left_adds_nothing(memory):
    found = memory(lifetimes(64 * MIB, 64 * MIB), evaluation(32 * MIB, inputs=(8 * MIB,)))
    assert found.evaluation_bytes == 0
    assert found.held_bytes == memory(lifetimes(64 * MIB, 64 * MIB), None).held_bytes


@pytest.mark.parametrize("memory", [in_arena, mapped])
def test_a_larger_evaluation_adds_what_it_needs_more_with_the_batches_that_wait(memory):
    found = memory(lifetimes(64 * MIB), evaluation(100 * MIB, inputs=(20 * MIB, 20 * MIB)))
    more = (100 + 40 - 64) * MIB
    # In an arena, what a step left free may be too small to be of use.
    assert more * 0.9 <= found.evaluation_bytes <= (more + 64 * MIB) * 1.1


def test_small_tensors_are_counted_beside_the_arena():
    small = lifetimes(*[1024] * 100)
    assert in_arena(small, None).held_bytes == pytest.approx(
        (1 + ORDER_MARGIN) * 4 * MIB * 3 + 100 * 1024, rel=0.1
    )
    assert in_arena(small, evaluation(*[1024] * 500)).evaluation_bytes == 400 * 1024


def test_a_list_of_small_elements_does_not_lie_in_the_arena():
    whole = in_arena(lifetimes(32 * MIB), None)
    elements = in_arena(lifetimes(32 * MIB, pieces=1024), None)
    assert elements.arena_bytes < whole.arena_bytes
    assert elements.held_bytes == pytest.approx(whole.held_bytes, rel=0.1)


def test_mapped_tensors_reserve_nothing():
    found = mapped(lifetimes(64 * MIB), None)
    assert found.arena_bytes == found.untouched_bytes == 0
    assert found.held_bytes == int(64 * MIB * (1 + ORDER_MARGIN)) + 4 * MIB
