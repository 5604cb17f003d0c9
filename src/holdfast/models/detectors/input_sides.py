"""The sides of a network's input, which may be known only when it runs."""

from __future__ import annotations

from keras import ops

from holdfast.geometry.anchors import Side
from holdfast.geometry.tensor import Tensor


def sides(inputs: Tensor) -> tuple[Side, Side]:
    """Give height and width: tensors where they are known only when the network runs."""
    height, width = inputs.shape[1:3]
    if height is None or width is None:
        height, width = ops.shape(inputs)[1:3]
    return height, width


def divided(side: Side, by: int) -> Side:
    """Divide, and round up.

    Not by a negative quotient, which ONNX rounds the other way.
    """
    return (side + by - 1) // by


def pad_to_multiple(inputs: Tensor, multiple: int) -> Tensor:
    """Pad with 0 at the bottom and right until the multiple divides both sides."""
    bottom, right = (divided(side, multiple) * multiple - side for side in sides(inputs))
    if multiple == 1 or (isinstance(bottom, int) and bottom == right == 0):
        return inputs
    return ops.pad(inputs, [(0, 0), (0, bottom), (0, right), (0, 0)])
