"""Boxes in the numbers that formats write: pixels, whole pixels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.data.sources.image_files import Size

# Normalized boxes are float32: of a whole number of pixels that much may be missing.
_WHOLE_PIXELS = 0.01
ROUNDED = "boxes are rounded to whole pixels"
CUT = "boxes are cut at the border of the image"


class WholeBoxes(NamedTuple):
    """Boxes in whole pixels, and whether that changed any."""

    boxes: NDArray[np.int64]  # (N, 4) y_min, x_min, y_max, x_max
    remarks: tuple[str, ...]


def to_pixels(boxes: NDArray[np.float32], size: Size) -> NDArray[np.float64]:
    """Give normalized boxes (N, 4) in pixels; the order of the columns stays."""
    height_width = np.array([size.height, size.width] * 2, np.float64)
    return boxes.astype(np.float64) * height_width


def to_whole_pixels(boxes: NDArray[np.float32], size: Size) -> WholeBoxes:
    """Round normalized boxes to whole pixels of the image; none becomes empty or leaves it."""
    limits = np.array([size.height, size.width] * 2)
    exact = to_pixels(boxes, size)
    inside = np.clip(exact, 0, limits)
    whole = np.rint(inside)
    # A box thinner than half a pixel would vanish: it gets all of the pixels that it touches.
    thin = np.tile(whole[:, 2:] <= whole[:, :2], 2)
    outward = np.concatenate([np.floor(inside[:, :2]), np.ceil(inside[:, 2:])], axis=1)
    whole = np.where(thin, outward, whole)
    remarks = [CUT] if (np.abs(inside - exact) > _WHOLE_PIXELS).any() else []
    remarks += [ROUNDED] if (np.abs(whole - inside) > _WHOLE_PIXELS).any() else []
    return WholeBoxes(whole.astype(np.int64), tuple(remarks))
