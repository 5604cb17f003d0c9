"""The loss of each place of a detector: where in which image a loss comes from."""

from __future__ import annotations

from typing import NamedTuple

from keras import ops

from holdfast.geometry.tensor import Tensor

# B images, N places: anchors, regions, cells of a map or ground-truth boxes


class PlaceLosses(NamedTuple):
    """A loss term by place; it adds up to the term."""

    losses: Tensor  # float32 (B, N)
    boxes: Tensor  # float32 (N, 4) or (B, N, 4), normalized to the padded input


def cell_boxes(height: int, width: int) -> Tensor:
    """Give the boxes of the cells of a map, row by row, float32 (height * width, 4)."""
    top, left = ops.meshgrid(
        ops.arange(height, dtype="float32"), ops.arange(width, dtype="float32"), indexing="ij"
    )
    corners = ops.stack([top, left, top + 1.0, left + 1.0], axis=-1)
    sides = ops.convert_to_tensor([height, width, height, width], "float32")
    return ops.reshape(corners / sides, (-1, 4))
