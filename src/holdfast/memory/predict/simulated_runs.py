"""Some runs of a graph in some processes: the order in which threads take up work is chance."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

from holdfast.memory.predict import calibration
from holdfast.memory.predict.arithmetic import graph_flops, input_shapes
from holdfast.memory.predict.lifetimes import Lifetimes, Workers, follow
from holdfast.memory.predict.operations import ALIASES
from holdfast.memory.predict.step_graph import GraphNode, StepGraph


def simulated_runs(
    graph: StepGraph, threads: int, *, count: int, steps: int
) -> tuple[tuple[Lifetimes, ...], ...]:
    """Follow so many steps in each of so many processes."""
    flops = graph_flops(graph)
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
        runs.append(
            tuple(follow(graph, workers=replace(workers, seed=step)) for step in range(steps))
        )
    return tuple(runs)


def _moved_bytes(node: GraphNode, nodes: Mapping[str, GraphNode]) -> int:
    if node.operation in ALIASES:
        return 0
    shapes = [*node.outputs, *(each for each in input_shapes(node, nodes) if each is not None)]
    return sum(shape.bytes for shape in shapes)
