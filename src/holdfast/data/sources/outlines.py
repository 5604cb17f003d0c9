"""Outlines of objects, as polygons or run lengths, and the masks they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from faster_coco_eval.core import mask as mask_api
from numpy.typing import NDArray

from holdfast.data.sources.image_files import Size
from holdfast.errors import HoldfastError


class Polygons(NamedTuple):
    """One object, in one or more parts."""

    parts: tuple[NDArray[np.float64], ...]  # each (P, 2) x, y in pixels
    holes: tuple[NDArray[np.float64], ...] = ()  # what is cut out of them


class RunLengths(NamedTuple):
    """COCO's run-length encoding: pixels column by column, runs of 0 and 1 in turn."""

    counts: str | bytes | Sequence[int]  # compressed, or the lengths themselves
    size: Size


class Bitmap(NamedTuple):
    """A small mask placed in the image."""

    pixels: NDArray[np.uint8]  # (h, w) 0 or 1
    left: int
    top: int


Outline = Polygons | RunLengths | Bitmap
# An outline further out than this many image sizes is a mistake, and rasterising it costs memory.
_FARTHEST = 20


def rasterise(outline: Outline, size: Size) -> NDArray[np.uint8]:
    """Draw an outline as a mask (height, width) of 0 and 1, as the COCO tools do."""
    match outline:
        case Polygons():
            return _draw(outline, size)
        case RunLengths():
            return _decode(outline, size)
        case Bitmap():
            return _place(outline, size)


def polygon_area(polygon: NDArray[np.float64]) -> float:
    """Give the area inside a polygon (P, 2), in its unit squared.

    >>> polygon_area(np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0]]))
    6.0
    """
    x, y = polygon[:, 0], polygon[:, 1]
    return float(abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2)


def _draw(outline: Polygons, size: Size) -> NDArray[np.uint8]:
    mask = _fill(outline.parts, size)
    mask[_fill(outline.holes, size) > 0] = 0
    return mask


def _fill(polygons: Sequence[NDArray[np.float64]], size: Size) -> NDArray[np.uint8]:
    limit = _FARTHEST * max(size)
    parts = [part for part in polygons if len(part) >= 3]  # fewer points enclose nothing
    if not parts:
        return np.zeros((size.height, size.width), np.uint8)
    if not all(np.isfinite(part).all() and np.abs(part).max() <= limit for part in parts):
        raise HoldfastError("A polygon has points that are far outside of the image.")
    flat = [part.ravel().tolist() for part in parts]
    return _pixels(mask_api.merge(mask_api.frPyObjects(flat, size.height, size.width)))


def _decode(outline: RunLengths, size: Size) -> NDArray[np.uint8]:
    if outline.size != size:
        raise HoldfastError(
            f"A run-length mask is {outline.size.width}x{outline.size.height} pixels, "
            f"its image {size.width}x{size.height}."
        )
    encoding: dict[str, Any] = {"counts": outline.counts, "size": [size.height, size.width]}
    try:
        if not isinstance(outline.counts, str | bytes):
            encoding = mask_api.frPyObjects(encoding, size.height, size.width)
        return _pixels(encoding)
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        raise HoldfastError(f"A run-length mask cannot be read: {error}") from None


def _pixels(encoding: dict[str, Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(mask_api.decode(encoding), dtype=np.uint8)


def _place(outline: Bitmap, size: Size) -> NDArray[np.uint8]:
    height, width = outline.pixels.shape
    bottom, right = outline.top + height, outline.left + width
    if min(outline.left, outline.top) < 0 or right > size.width or bottom > size.height:
        raise HoldfastError("A mask reaches out of its image.")
    mask = np.zeros((size.height, size.width), np.uint8)
    mask[outline.top : bottom, outline.left : right] = outline.pixels
    return mask
