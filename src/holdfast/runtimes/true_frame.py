"""Places in a network's input, as places in the image that lies in its upper left corner."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Inputs have sides H, W; size is (height, width, …) of the image before it was padded to them.


def boxes_in_image(
    boxes: NDArray[np.float32], size: NDArray[np.int32], sides: tuple[int, int]
) -> NDArray[np.float32]:
    """Give boxes (N, 4), normalized to the input, relative to the image, and clipped to it.

    >>> box = np.array([[0.25, 0.0, 0.75, 1.0]], np.float32)
    >>> boxes_in_image(box, np.array([50, 100]), (100, 100)).tolist()
    [[0.5, 0.0, 1.0, 1.0]]
    """
    clipped: NDArray[np.float32] = np.clip(boxes * np.tile(_scale(size, sides), 2), 0.0, 1.0)
    return clipped


def points_in_image(
    points: NDArray[np.float32], size: NDArray[np.int32], sides: tuple[int, int]
) -> NDArray[np.float32]:
    """Give points (..., 2), y and x normalized to the input, relative to the image."""
    moved: NDArray[np.float32] = points * _scale(size, sides)
    return moved


def _scale(size: NDArray[np.int32], sides: tuple[int, int]) -> NDArray[np.float32]:
    height, width = size[:2].tolist()
    return np.array([sides[0] / height, sides[1] / width], np.float32)
