"""Boxes of a network's input, as boxes of the image in it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def in_true_image(
    boxes: NDArray[np.float32], size: NDArray[np.int32], sides: tuple[int, int]
) -> NDArray[np.float32]:
    """Give boxes (N, 4), normalized to an input of these sides, relative to the image in it.

    size: height and width of the image, which lies in the upper left corner. Boxes are clipped.

    >>> box = np.array([[0.25, 0.0, 0.75, 1.0]], np.float32)
    >>> in_true_image(box, np.array([50, 100]), (100, 100)).tolist()
    [[0.5, 0.0, 1.0, 1.0]]
    """
    scale = np.array(sides, np.float32) / np.asarray(size[:2], np.float32)
    clipped: NDArray[np.float32] = np.clip(boxes * np.tile(scale, 2), 0.0, 1.0)
    return clipped
