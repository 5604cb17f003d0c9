"""The largest shape that a tensor can have whose shape depends on the data.

How many boxes suppression keeps, where a mask is true, how many values differ: a graph does not
tell, but it tells how many there can be at most. Bounds are handed on from operation to operation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from holdfast.memory.predict.operations import ALIASES, WRITES_OVER_INPUT
from holdfast.memory.predict.step_graph import Output

Sides = tuple[int, ...]
PartialSides = tuple[int | None, ...] | None  # None: not even the number of sides is known
# No side of the result is larger than that of an input with as many sides.
_NEVER_LARGER = frozenset(
    """Cast Equal NotEqual Greater GreaterEqual Less LessEqual StridedSlice Slice ReverseV2 Cumsum
    Sum Mean Max Min Prod All Any Conv2D DepthwiseConv2dNative MaxPool AvgPool FusedBatchNormV3
    TensorScatterUpdate TensorScatterAdd""".split()  # noqa: SIM905
)
_ELEMENT_WISE = WRITES_OVER_INPUT | ALIASES
_PADS_TO_LIMIT = ("NonMaxSuppressionV4", "NonMaxSuppressionV5")


class Maker(NamedTuple):
    """An operation, and what is known about its results."""

    operation: str
    inputs: tuple[Output, ...]
    results: tuple[PartialSides, ...]


def bounded_shapes(makers: Mapping[str, Maker], numbers: Mapping[str, int]) -> dict[Output, Sides]:
    """Give the largest sides of every output for which the graph or a rule tells them.

    numbers: the values of the constants that are one whole number, by name.
    """
    known: dict[Output, Sides] = {}
    unknown: list[Output] = []
    for name, maker in makers.items():
        for position, sides in enumerate(maker.results):
            if sides is not None and None not in sides:
                known[Output(name, position)] = tuple(side or 0 for side in sides)
            else:
                unknown.append(Output(name, position))
    while unknown:  # in loops, what comes later can bound what came before
        for output in unknown:
            sides = _bound(makers[output.node], output.position, known, numbers)
            if sides is not None:
                known[output] = sides
        left = [output for output in unknown if output not in known]
        if len(left) == len(unknown):
            break
        unknown = left
    return known


def _bound(
    maker: Maker, position: int, known: Mapping[Output, Sides], numbers: Mapping[str, int]
) -> Sides | None:
    inputs = [known.get(each) for each in maker.inputs]
    values = [numbers.get(each.node) for each in maker.inputs]
    first = inputs[0] if inputs else None
    result = maker.results[position]
    match maker.operation:
        case operation if operation.startswith("NonMaxSuppression"):
            return _kept(operation, position, first, values[2])
        case "Where" if first is not None:
            return (math.prod(first), len(first))
        case "TopK" | "TopKV2" if first:
            return (*first[:-1], first[-1] if values[1] is None else values[1])
        case "Unique" | "UniqueV2" | "UniqueWithCounts" if first is not None:
            return (math.prod(first),)
        case "GatherV2" | "GatherNd" | "ConcatV2" | "Pack":
            return _joined(maker.operation, inputs, values)
        case "Reshape" | "Squeeze" | "ExpandDims" if first is not None and result is not None:
            return _reshaped(math.prod(first), result)
        case operation if operation in _ELEMENT_WISE:
            return _broadcast(result, inputs)
        case operation if operation in _NEVER_LARGER and first is not None:
            return _within(result, [first])
    return None


def _kept(operation: str, position: int, boxes: Sides | None, limit: int | None) -> Sides | None:
    """Bound what suppression keeps: no more than asked for, and no more than there are."""
    if limit is None and boxes is None:
        return None
    if operation in _PADS_TO_LIMIT and position > int(operation == "NonMaxSuppressionV5"):
        return ()
    sizes = [size for size in (limit, boxes[0] if boxes else None) if size is not None]
    return (limit if operation in _PADS_TO_LIMIT and limit is not None else min(sizes),)


def _joined(
    operation: str, inputs: Sequence[Sides | None], values: Sequence[int | None]
) -> Sides | None:
    match operation:
        case "Pack" if inputs and inputs[0] is not None and None not in inputs:
            return (len(inputs), *inputs[0])  # along the first axis, or as many numbers
        case "ConcatV2" if inputs[:-1] and None not in inputs[:-1] and values[-1] is not None:
            parts = [each for each in inputs[:-1] if each is not None]
            axis = values[-1] % len(parts[0])
            return (*parts[0][:axis], sum(each[axis] for each in parts), *parts[0][axis + 1 :])
        case "GatherV2" if None not in inputs[:2] and values[2] is not None:
            rows, indices = inputs[0] or (), inputs[1] or ()
            axis = values[2] % max(1, len(rows))
            return (*rows[:axis], *indices, *rows[axis + 1 :])
        case "GatherNd" if None not in inputs:
            rows, indices = inputs[0] or (), inputs[1] or (0,)
            return (*indices[:-1], *rows[indices[-1] :])
    return None


def _reshaped(numbers: int, result: tuple[int | None, ...]) -> Sides:
    """Give the first unknown side all that the known ones leave."""
    rest = -(-numbers // max(1, math.prod(side for side in result if side is not None)))
    first = result.index(None)
    return tuple(
        side if side is not None else (rest if index == first else 1)
        for index, side in enumerate(result)
    )


def _broadcast(result: PartialSides, inputs: Sequence[Sides | None]) -> Sides | None:
    """Bound an element-wise result: all that is known of its inputs, side by side."""
    shapes = [each for each in inputs if each is not None]
    if len(shapes) < len(inputs) or not shapes:
        return None
    largest = max(shapes, key=lambda sides: (len(sides), math.prod(sides)))
    return _within(result or (None,) * len(largest), shapes)


def _within(result: PartialSides, shapes: Sequence[Sides]) -> Sides | None:
    """Bound open sides by those of the shapes that have as many."""
    if result is None:
        return None
    alike = [each for each in shapes if len(each) == len(result)]
    if not alike:
        return None
    return tuple(
        max(each[index] for each in alike) if side is None else side
        for index, side in enumerate(result)
    )
