"""How far boxes overlap, in NumPy: checks look at a few boxes at a time, without a framework."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def overlaps(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    """Give the IoU of every box of first (N, 4) with every box of second (M, 4): (N, M).

    >>> boxes = np.array([[0, 0, 1, 1], [0, 0, 1, 2]], np.float32)
    >>> overlaps(boxes, boxes).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    top_left = np.maximum(first[:, None, :2], second[None, :, :2])  # (N, M, 2)
    bottom_right = np.minimum(first[:, None, 2:], second[None, :, 2:])  # (N, M, 2)
    shared = np.maximum(bottom_right - top_left, 0.0).prod(axis=-1)  # (N, M)
    union = _area(first)[:, None] + _area(second)[None] - shared
    return np.asarray(shared / np.where(union > 0.0, union, 1.0), np.float32)


def _area(boxes: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(np.maximum(boxes[:, 2:] - boxes[:, :2], 0.0).prod(axis=-1), np.float32)
