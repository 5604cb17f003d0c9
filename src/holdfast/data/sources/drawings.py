"""What people draw on images with labeling tools: boxes, polygons, ellipses, lines, masks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.data.sources.annotated_objects import Box, LabeledObject, box_around
from holdfast.data.sources.image_files import Size
from holdfast.data.sources.outlines import Bitmap, Outline, Polygons, polygon_area
from holdfast.errors import HoldfastError

_ELLIPSE_POINTS = 64
_LARGEST = 1e12  # no image has such a place, and overflows when areas are computed


class Drawing(NamedTuple):
    """One object as it was drawn; what is not a number is NaN, for the checks to find."""

    label: str
    box: Box
    outline: Outline | None = None  # None: it encloses nothing
    area: float = 0.0
    follows: bool = False  # whether it follows the object more closely than an upright box
    rotated: bool = False  # whether it is a box that does not stand upright

    def scaled(self, across: float, down: float) -> Drawing:
        """Give the drawing in other units."""
        box = Box(*np.multiply(self.box, (down, across, down, across)).tolist())
        return self._replace(
            box=box, outline=_scale(self.outline, across, down), area=self.area * across * down
        )

    def to_object(self, class_index: int, *, masks: bool) -> LabeledObject:
        """Give the object in pixels."""
        return LabeledObject(
            class_index=class_index,
            box=self.box,
            outline=self.outline if masks else None,
            area=self.area,
        )


def draw_box(label: str, box: Box, *, degrees: float = 0.0, around_corner: bool = False) -> Drawing:
    """Draw a box; a rotated one is turned clockwise around its center or its top left corner."""
    left, top, right, bottom = box.x_min, box.y_min, box.x_max, box.y_max
    corners = np.array([(left, top), (right, top), (right, bottom), (left, bottom)])
    area = (bottom - top) * (right - left)
    if not degrees:
        return Drawing(label, box, _polygons(corners), area)
    pivot = corners[0] if around_corner else (corners[0] + corners[2]) / 2
    turned = (corners - pivot) @ _rotation(degrees) + pivot
    return Drawing(label, box_around(turned), _polygons(turned), area, rotated=True)


def draw_polygon(
    label: str, points: NDArray[np.float64], holes: Sequence[NDArray[np.float64]] = ()
) -> Drawing:
    """Draw an area (P, 2) x, y; fewer than three points enclose nothing."""
    if len(points) < 3:
        return draw_line(label, points)
    area = polygon_area(points) - sum(map(polygon_area, holes))
    return Drawing(label, box_around(points), _polygons(points, holes), area, follows=True)


def draw_ellipse(
    label: str, center: tuple[float, float], radii: tuple[float, float], *, degrees: float = 0.0
) -> Drawing:
    """Draw an ellipse around a center x, y, turned clockwise."""
    (x, y), (across, down) = center, radii
    turn = math.radians(degrees)
    half_width = math.hypot(across * math.cos(turn), down * math.sin(turn))
    half_height = math.hypot(across * math.sin(turn), down * math.cos(turn))
    angles = np.linspace(0, 2 * math.pi, _ELLIPSE_POINTS, endpoint=False)
    around = np.stack([across * np.cos(angles), down * np.sin(angles)], axis=1)
    return Drawing(
        label,
        Box(y - half_height, x - half_width, y + half_height, x + half_width),
        _polygons(around @ _rotation(degrees) + center),
        math.pi * across * down,
        follows=True,
    )


def draw_line(label: str, points: NDArray[np.float64]) -> Drawing:
    """Draw points (P, 2) x, y and the lines between them; they enclose nothing."""
    if not len(points):
        return Drawing(label, Box(*[math.nan] * 4))
    return Drawing(label, box_around(points))


def draw_mask(label: str, pixels: NDArray[np.uint8], left: int, top: int) -> Drawing:
    """Draw single pixels (h, w), the first of them at left, top; the box is that of the ones."""
    rows, columns = np.flatnonzero(pixels.any(axis=1)), np.flatnonzero(pixels.any(axis=0))
    if not len(rows):
        return Drawing(label, Box(top, left, top, left))
    box = Box(
        float(top + rows[0]),
        float(left + columns[0]),
        float(top + rows[-1] + 1),
        float(left + columns[-1] + 1),
    )
    return Drawing(label, box, Bitmap(pixels, left, top), float(pixels.sum()), follows=True)


def to_number(value: Any) -> float:
    """Give a number of a file as a float, also if it is written as text; NaN where it is none.

    >>> to_number(" 1.5 "), to_number(None), to_number(True), to_number(1e300)
    (1.5, nan, nan, nan)
    """
    if isinstance(value, bool):
        return math.nan
    try:
        number = float(value)
    except (OverflowError, TypeError, ValueError):
        return math.nan
    return number if abs(number) <= _LARGEST else math.nan


def to_size(width: Any, height: Any) -> Size:
    """Give an image's size as a file states it; 0 where it does not."""
    sides = [number if math.isfinite(number := to_number(side)) else 0 for side in (width, height)]
    return Size(*(round(side) for side in sides))


def to_points(pairs: Any) -> NDArray[np.float64]:
    """Give points (P, 2) x, y from pairs of numbers; HoldfastError if they are not pairs."""
    if not isinstance(pairs, list) or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs
    ):
        raise HoldfastError("Its points are not pairs of numbers.")
    return np.array([[to_number(x), to_number(y)] for x, y in pairs]).reshape(-1, 2)


def _polygons(
    points: NDArray[np.float64], holes: Sequence[NDArray[np.float64]] = ()
) -> Outline | None:
    """Give an outline that can be drawn; with a NaN in it the box is left out anyway."""
    return Polygons((points,), tuple(holes)) if np.isfinite(points).all() else None


def _rotation(degrees: float) -> NDArray[np.float64]:
    """Give the matrix that turns rows x, y clockwise, as y points down."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[cosine, sine], [-sine, cosine]])


def _scale(outline: Outline | None, across: float, down: float) -> Outline | None:
    match outline:
        case Polygons():
            factors = (across, down)
            return Polygons(
                tuple(part * factors for part in outline.parts),
                tuple(hole * factors for hole in outline.holes),
            )
        case None:
            return None
    raise TypeError(f"{type(outline).__name__} has pixels of its own and is not scaled")
