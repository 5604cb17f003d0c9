"""Arrays of boxes for hypothesis, and slow oracles of what is computed of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

# Multiples of 1/64 are exact in float32, so that an oracle sees the same ties and empty boxes.
coordinates = st.integers(-32, 96).map(lambda number: np.float32(number / 64))


def boxes(shape: Sequence[int]) -> st.SearchStrategy[np.ndarray[Any, Any]]:
    """Boxes (*shape, 4), some of them empty, with corners in order."""
    corners = hnp.arrays(np.float32, (*shape, 2, 2), elements=coordinates)
    return corners.map(lambda points: np.sort(points, axis=-2).reshape(*shape, 4))


def solid_boxes(shape: Sequence[int]) -> st.SearchStrategy[np.ndarray[Any, Any]]:
    """Boxes (*shape, 4) with sides of at least 1/64."""
    grow = np.array([0, 0, 1, 1], np.float32) / 64
    return boxes(shape).map(lambda values: values + grow)


def iou_oracle(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> float:
    """Intersection over union of two boxes."""
    height = min(first[2], second[2]) - max(first[0], second[0])
    width = min(first[3], second[3]) - max(first[1], second[1])
    if height <= 0 or width <= 0:
        return 0.0
    sizes = [(box[2] - box[0]) * (box[3] - box[1]) for box in (first, second)]
    return float(np.float32(height * width) / np.float32(sum(sizes) - height * width))
