"""How much an operation computes: floating-point operations, by its inputs and outputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from holdfast.memory.predict.operations import WRITES_OVER_INPUT
from holdfast.memory.predict.step_graph import GraphNode, StepGraph, TensorShape

# A multiplication and an addition count as two.
_PER_PRODUCT = 2
_NORMALIZE = {"FusedBatchNormV3": 8, "_FusedBatchNormEx": 8, "FusedBatchNormGradV3": 11}  # a number


def graph_flops(graph: StepGraph) -> dict[str, int]:
    """Count the floating-point operations of each node, run once.

    Only what computes on tensors counts: what moves or reshapes them does not.
    """
    nodes = {node.name: node for node in graph.nodes}
    return {name: node_flops(node, input_shapes(node, nodes)) for name, node in nodes.items()}


def step_flops(graph: StepGraph, accumulation: int) -> int:
    """Count those of a step, in which the loop over pieces of the batch runs so many times."""
    loops = {_loop(node.name) for node in graph.nodes if "Backprop" in node.operation} - {""}
    return sum(
        flops * (accumulation if _loop(name) in loops else 1)
        for name, flops in graph_flops(graph).items()
    )


def input_shapes(node: GraphNode, nodes: Mapping[str, GraphNode]) -> tuple[TensorShape | None, ...]:
    """Give the shapes of the inputs, None where the graph does not tell."""
    found = []
    for source, index in node.inputs:
        outputs = nodes[source].outputs if source in nodes else ()
        found.append(outputs[index] if index < len(outputs) else None)
    return tuple(found)


def node_flops(node: GraphNode, inputs: Sequence[TensorShape | None]) -> int:
    """Count the floating-point operations of one operation; 0 where a shape is not known."""
    if not node.outputs:
        return 0
    first, second, third = (*(_sides(each) for each in inputs[:3]), (), (), ())[:3]
    made = node.outputs[0].sides
    match node.operation.removeprefix("_Fused").removeprefix("_"):
        case "Conv2D":
            return _products(made, second[:3])
        case "Conv2DBackpropInput":
            return _products(third, second[:3])
        case "Conv2DBackpropFilter":
            return _products(third, made[:3])
        case "DepthwiseConv2dNative":
            return _products(made, second[:2])
        case "DepthwiseConv2dNativeBackpropInput":
            return _products(third, second[:2])
        case "DepthwiseConv2dNativeBackpropFilter":
            return _products(third, made[:2])
        case "MatMul" if first:
            return _products(made, first[:1] if node.settings.get("transpose_a") else first[-1:])
    per_number = _NORMALIZE.get(node.operation, int(node.operation in WRITES_OVER_INPUT))
    return per_number * math.prod(made)


def _sides(shape: TensorShape | None) -> tuple[int, ...]:
    return () if shape is None else shape.sides


def _products(numbers: tuple[int, ...], each: tuple[int, ...]) -> int:
    """Count for so many numbers, each a sum of so many products; 0 where one is not known."""
    return _PER_PRODUCT * math.prod(numbers) * math.prod(each) if numbers and each else 0


def _loop(name: str) -> str:
    """Name the loop whose body a node is in; "" for none."""
    before, body, _ = name.partition("/body/")
    return before if body else ""
