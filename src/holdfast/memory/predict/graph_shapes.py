"""The shapes of a graph's tensors: as the graph tells them, else as they are bounded, else guessed.

What is guessed is counted, so that nobody is given a figure that stands on guesses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from holdfast.memory.predict.operations import ALIASES
from holdfast.memory.predict.shape_bounds import Maker, PartialSides, bounded_shapes
from holdfast.memory.predict.step_graph import Output, TensorShape

_NO_BYTES = (tf.resource, tf.variant)  # handles; what a list holds is counted where it is filled
# The sixth output of batch norm is the library's own: with cuDNN not known, with oneDNN empty, or
# for the rectified results of a training which of them are positive, a float for eight of them.
_TELLING_OUTPUTS = {"FusedBatchNormV3": 5, "_FusedBatchNormEx": 5}
_WITHOUT_TENSORS = ("NoOp", "VarHandleOp")


@dataclass(frozen=True, kw_only=True)
class GraphShapes:
    """The outputs of every node, by its name."""

    outputs: dict[str, tuple[TensorShape, ...]]
    unknown: tuple[str, ...]  # nodes with an output whose size is a guess
    unknown_share: float  # of the bytes of all tensors


def inputs_of(definition: Any) -> tuple[Output, ...]:
    """List what a node of a GraphDef takes, without what it only waits for."""
    split = (text.partition(":") for text in definition.input if not text.startswith("^"))
    return tuple(Output(name, int(index or 0)) for name, _, index in split)


def whole_number(definition: Any) -> int | None:
    """Give the value of a constant that is one whole number."""
    if definition.op != "Const" or definition.attr["value"].tensor.tensor_shape.dim:
        return None
    tensor = definition.attr["value"].tensor
    if not tf.as_dtype(tensor.dtype).is_integer:
        return None
    return int(tf.make_ndarray(tensor))


def read_shapes(nodes: Mapping[str, Any], properties: Mapping[str, Any]) -> GraphShapes:
    """Find the shape of every output of a GraphDef's nodes, given what was inferred about them."""
    makers = {
        name: Maker(node.op, inputs_of(node), tuple(map(_sides, properties.get(name, ()))))
        for name, node in nodes.items()
    }
    numbers = {
        name: value for name, node in nodes.items() if (value := whole_number(node)) is not None
    }
    known = bounded_shapes(makers, numbers)
    outputs: dict[str, tuple[TensorShape, ...]] = {}
    guessed: dict[str, int] = {}  # bytes, by node
    for name, maker in makers.items():
        kinds = [_item_bytes(each) for each in properties.get(name, ())]
        shapes = [
            TensorShape(_counted(known.get(Output(name, index), maker.results[index])), size)
            for index, size in enumerate(kinds)
        ]
        if nodes[name].op == "_FusedBatchNormEx" and nodes[name].attr["is_training"].b:
            shapes[5] = TensorShape((shapes[0].numbers // 8,), 4)
        outputs[name] = tuple(shapes)
        if maker.operation not in _WITHOUT_TENSORS:
            telling = kinds[: _TELLING_OUTPUTS.get(maker.operation)]
            missing = [i for i, size in enumerate(telling) if size and Output(name, i) not in known]
            if missing:
                guessed[name] = len(missing)
    return _with_guesses(makers, outputs, guessed)


def _with_guesses(
    makers: Mapping[str, Maker],
    outputs: dict[str, tuple[TensorShape, ...]],
    guessed: dict[str, int],
) -> GraphShapes:
    """Take a tensor of unknown size for as large as the largest of its inputs."""
    for _ in range(2 if guessed else 0):  # what is made of a guess comes later, mostly
        for name in guessed:
            sizes = [
                outputs[each.node][each.position]
                for each in makers[name].inputs
                if each.position < len(outputs.get(each.node, ()))
            ]
            largest = max((each.bytes for each in sizes), default=0)
            outputs[name] = tuple(
                TensorShape((max(each.numbers, largest // each.item_bytes),), each.item_bytes)
                if each.item_bytes
                else each
                for each in outputs[name]
            )
    total = unknown = 0
    for name, shapes in outputs.items():
        if makers[name].operation not in ALIASES:
            size = sum(each.bytes for each in shapes)
            total += size
            unknown += size if name in guessed else 0
    return GraphShapes(
        outputs=outputs, unknown=tuple(guessed), unknown_share=unknown / max(1, total)
    )


def _sides(properties: Any) -> PartialSides:
    if properties.shape.unknown_rank:
        return None
    return tuple(int(side.size) if side.size >= 0 else None for side in properties.shape.dim)


def _counted(sides: Sequence[int | None] | None) -> tuple[int, ...]:
    """Count a side that is not known, or empty, as 1."""
    return tuple(max(1, side or 1) for side in sides or ())


def _item_bytes(properties: Any) -> int:
    kind = tf.as_dtype(properties.dtype)
    return 0 if kind in _NO_BYTES else int(kind.size)
