"""What a head gives, and how maps of predictions become lists of anchors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from keras import ops

from holdfast.geometry.tensor import Tensor


class HeadOutput(NamedTuple):
    """Predictions of every anchor: level by level, row by row, cell by cell."""

    box_encodings: Tensor  # (B, A, code_size)
    class_logits: Tensor  # (B, A, num_class_slots)


def join_levels(maps: Iterable[Tensor], size: int) -> Tensor:
    """Turn maps (B, H, W, anchors x size) into one list (B, A, size)."""
    flat = []
    for values in maps:
        _, height, width, channels = ops.shape(values)
        flat.append(ops.reshape(values, (-1, height * width * (channels // size), size)))
    return ops.concatenate(flat, axis=1)
