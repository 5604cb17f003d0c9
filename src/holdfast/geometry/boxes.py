"""Boxes: corner form and center form, area, clipping, and change of frame.

A box is (y_min, x_min, y_max, x_max) on the last axis; every function takes any leading shape.
"""

from __future__ import annotations

from typing import NamedTuple

from keras import ops

from holdfast.geometry.tensor import Tensor


class CenterForm(NamedTuple):
    """Boxes by center and size, each (...)."""

    y: Tensor
    x: Tensor
    height: Tensor
    width: Tensor


def to_center_form(boxes: Tensor) -> CenterForm:
    """Give centers and sizes of boxes (..., 4).

    >>> [float(value) for value in to_center_form(ops.array([0.0, 2.0, 4.0, 4.0]))]
    [2.0, 3.0, 4.0, 2.0]
    """
    y_min, x_min, y_max, x_max = corners(boxes)
    height = y_max - y_min
    width = x_max - x_min
    return CenterForm(y_min + height / 2.0, x_min + width / 2.0, height, width)


def from_center_form(center: CenterForm) -> Tensor:
    """Give boxes (..., 4) of centers and sizes."""
    half_height = center.height / 2.0
    half_width = center.width / 2.0
    return ops.stack(
        [
            center.y - half_height,
            center.x - half_width,
            center.y + half_height,
            center.x + half_width,
        ],
        axis=-1,
    )


def corners(boxes: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Split boxes (..., 4) into y_min, x_min, y_max, x_max, each (...)."""
    return boxes[..., 0], boxes[..., 1], boxes[..., 2], boxes[..., 3]


def area(boxes: Tensor) -> Tensor:
    """Give the areas (...); negative where one side is turned inside out."""
    y_min, x_min, y_max, x_max = corners(boxes)
    return (y_max - y_min) * (x_max - x_min)


def clip_to_window(boxes: Tensor, window: Tensor) -> Tensor:
    """Move the corners of boxes (..., N, 4) into a window (..., 4).

    A box outside becomes a line or a point on the border, of area 0.
    """
    window = ops.expand_dims(window, -2)
    low = ops.concatenate([window[..., :2], window[..., :2]], axis=-1)
    high = ops.concatenate([window[..., 2:], window[..., 2:]], axis=-1)
    return ops.maximum(ops.minimum(boxes, high), low)


def to_frame(boxes: Tensor, window: Tensor) -> Tensor:
    """Write boxes (..., N, 4) in the frame of a window (..., 4): its corners become 0 and 1.

    >>> window = ops.array([0.0, 0.0, 0.5, 1.0])
    >>> [float(value) for value in to_frame(ops.array([[0.25, 0.25, 0.5, 0.5]]), window)[0]]
    [0.5, 0.25, 1.0, 0.5]
    """
    origin = window[..., :2]
    inverse_size = 1.0 / (window[..., 2:] - origin)
    shift = ops.expand_dims(ops.concatenate([origin, origin], axis=-1), -2)
    scale = ops.expand_dims(ops.concatenate([inverse_size, inverse_size], axis=-1), -2)
    return (boxes - shift) * scale


def to_pixels(boxes: Tensor, height: Tensor, width: Tensor) -> Tensor:
    """Write boxes (..., 4) that are normalized to an image of this size in its pixels."""
    return boxes * ops.cast(ops.stack([height, width, height, width]), "float32")


def from_pixels(boxes: Tensor, height: Tensor, width: Tensor) -> Tensor:
    """Normalize boxes (..., 4) in pixels to an image of this size."""
    # A product with the inverse, not a quotient: the last bit of a box at the border decides
    # whether what is cut out there lies inside, and the OD API's numbers were made so.
    return boxes * (1.0 / ops.cast(ops.stack([height, width, height, width]), "float32"))


def true_image_windows(sizes: Tensor, height: Tensor, width: Tensor) -> Tensor:
    """Give the part of a padded input that is image: (B, 4), normalized to the input.

    sizes is int32 (B, 3), height, width and channels before the padding.
    """
    bottom = ops.cast(sizes[:, 0], "float32") / ops.cast(height, "float32")
    right = ops.cast(sizes[:, 1], "float32") / ops.cast(width, "float32")
    zero = ops.zeros_like(bottom)
    return ops.stack([zero, zero, bottom, right], axis=-1)
