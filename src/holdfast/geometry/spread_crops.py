"""Masks of the parts of an object, which are relative to their boxes, as one mask of its box."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# P parts of an object, (h, w) cells of a mask; box = (y_min, x_min, y_max, x_max)

FloatArray = NDArray[np.float32]


def spread_crops(crops: FloatArray, boxes: FloatArray, whole: FloatArray) -> FloatArray:
    """Lay masks (P, h, w) of boxes (P, 4) over the box (4,) around all of them: (h, w).

    The corner cells of a mask lie on the corners of its box. Where parts overlap, the one that is
    surer counts; where no part is, the mask is 0.

    >>> crops = np.ones((2, 3, 3), np.float32)
    >>> boxes = np.array([[0, 0, 2, 2], [0, 2, 2, 4]], np.float32)
    >>> spread_crops(crops, boxes, np.array([0, 0, 2, 4], np.float32)).min()
    np.float32(1.0)
    """
    height, width = crops.shape[1:]
    spread = np.zeros((height, width), np.float32)
    for crop, box in zip(crops, boxes, strict=True):
        rows = _places(whole[0::2], box[0::2], height)
        columns = _places(whole[1::2], box[1::2], width)
        spread = np.maximum(spread, _blended(_blended(crop, rows).T, columns).T)
    return spread


def _places(whole: FloatArray, part: FloatArray, cells: int) -> FloatArray:
    """Say where the cells of the whole lie along a part, in its cells; beyond it, NaN."""
    along = np.linspace(whole[0], whole[1], cells, dtype=np.float32)
    length = max(float(part[1] - part[0]), 1e-6)
    places = (along - part[0]) / length * (cells - 1)
    slack = 1e-3 * cells  # of rounding
    is_inside = (places >= -slack) & (places <= cells - 1 + slack)
    return np.where(is_inside, np.clip(places, 0.0, cells - 1.0), np.nan).astype(np.float32)


def _blended(values: FloatArray, places: FloatArray) -> FloatArray:
    """Take rows of values at places between them, linearly; 0 where there is no place."""
    is_inside = ~np.isnan(places)
    known = np.where(is_inside, places, 0.0)
    first = np.floor(known).astype(np.intp)
    second = np.minimum(first + 1, len(values) - 1)
    share = (known - first).astype(np.float32)[:, None]
    blended: FloatArray = (1 - share) * values[first] + share * values[second]
    return np.where(is_inside[:, None], blended, np.float32(0.0))
