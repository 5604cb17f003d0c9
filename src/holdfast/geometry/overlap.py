"""How alike two boxes are: the similarities that matching and losses use.

Every function takes two tensors of boxes whose leading shapes broadcast; `pairwise` compares each
box of the first with each of the second.
"""

from __future__ import annotations

from collections.abc import Callable

from keras import ops

from holdfast.geometry.boxes import area, corners
from holdfast.geometry.tensor import Tensor

Similarity = Callable[[Tensor, Tensor], Tensor]


def pairwise(similarity: Similarity, first: Tensor, second: Tensor) -> Tensor:
    """Compare every box of first (..., N, 4) with every box of second (..., M, 4): (..., N, M).

    >>> boxes = ops.array([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 2.0]])
    >>> pairwise(iou, boxes, boxes).numpy().tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    return similarity(first[..., :, None, :], second[..., None, :, :])


def intersection(first: Tensor, second: Tensor) -> Tensor:
    """Give the area that two boxes share; 0 where they do not meet."""
    y_min, x_min, y_max, x_max = corners(first)
    other_y_min, other_x_min, other_y_max, other_x_max = corners(second)
    # Written in one expression so that at most three tensors of the result's shape live at once.
    heights = ops.maximum(ops.minimum(y_max, other_y_max) - ops.maximum(y_min, other_y_min), 0.0)
    return heights * ops.maximum(
        ops.minimum(x_max, other_x_max) - ops.maximum(x_min, other_x_min), 0.0
    )


def iou(first: Tensor, second: Tensor) -> Tensor:
    """Intersection over union, 0..1; 0 where the boxes share nothing, also for empty boxes."""
    shared = intersection(first, second)
    union = area(first) + area(second) - shared
    return shared / ops.where(shared > 0.0, union, 1.0)


def ioa(first: Tensor, second: Tensor) -> Tensor:
    """Intersection over the area of the second box, 0..1; 0 where that box is empty."""
    shared = intersection(first, second)
    return shared / ops.where(shared > 0.0, area(second), 1.0)


def negative_squared_distance(first: Tensor, second: Tensor) -> Tensor:
    """Minus the squared distance of two boxes seen as points of four coordinates; at most 0."""
    distance = 0.0
    for coordinate, other in zip(corners(first), corners(second), strict=True):
        distance = distance + ops.square(coordinate - other)
    return -distance


def thresholded_iou(first: Tensor, second: Tensor, *, iou_threshold: float = 0.5) -> Tensor:
    """1 where the intersection over union is above the threshold, else 0."""
    return ops.cast(iou(first, second) > iou_threshold, first.dtype)


def giou(first: Tensor, second: Tensor) -> Tensor:
    """Generalized intersection over union (Rezatofighi et al. 2019), -1..1.

    It falls further the farther two boxes that share nothing lie apart; 0 where both are empty and
    at one place.
    """
    shared = intersection(first, second)
    union = area(first) + area(second) - shared
    hull = _hull_area(first, second)
    overlap = shared / ops.where(union == 0.0, 1.0, union)
    has_hull = hull > 0.0
    waste = (hull - union) / ops.where(has_hull, hull, 1.0)
    return ops.where(has_hull, overlap - waste, 0.0)


def _hull_area(first: Tensor, second: Tensor) -> Tensor:
    """Area of the smallest box around both."""
    y_min, x_min, y_max, x_max = corners(first)
    other_y_min, other_x_min, other_y_max, other_x_max = corners(second)
    heights = ops.maximum(y_max, other_y_max) - ops.minimum(y_min, other_y_min)
    return heights * (ops.maximum(x_max, other_x_max) - ops.minimum(x_min, other_x_min))
