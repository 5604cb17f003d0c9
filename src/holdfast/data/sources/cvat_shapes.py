"""One element of a CVAT XML file as a drawing."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from holdfast.data.sources.annotated_objects import Box, box_around
from holdfast.data.sources.drawings import (
    Drawing,
    draw_box,
    draw_ellipse,
    draw_line,
    draw_mask,
    draw_polygon,
    to_number,
)
from holdfast.errors import HoldfastError

SHAPES = ("box", "polygon", "polyline", "points", "ellipse", "mask", "cuboid", "skeleton")
_CUBOID_CORNERS = ("tl", "bl", "tr", "br")
_LARGEST_MASK = 2**30  # pixels; more is a mistake, and would fill the memory


def draw(element: Element, label: str) -> Drawing:
    """Draw an element that is one of SHAPES; HoldfastError says what is wrong with it."""
    match element.tag:
        case "box":
            corners = Box(*(_number(element, name) for name in ("ytl", "xtl", "ybr", "xbr")))
            return draw_box(label, corners, degrees=_degrees(element))
        case "polygon":
            return draw_polygon(label, _points(element))
        case "ellipse":
            center = _number(element, "cx"), _number(element, "cy")
            radii = _number(element, "rx"), _number(element, "ry")
            return draw_ellipse(label, center, radii, degrees=_degrees(element))
        case "mask":
            return _mask(element, label)
        case "cuboid":
            return draw_box(label, box_around(_cuboid(element)))
        case "skeleton":
            return _skeleton(element, label)
        case _:
            return draw_line(label, _points(element))


def is_outside(element: Element) -> bool:
    """Tell whether a shape of a track has left the frame; a skeleton's points leave one by one."""
    points = element.findall("points")
    return element.get("outside") == "1" or (
        bool(points) and all(point.get("outside") == "1" for point in points)
    )


def _number(element: Element, name: str) -> float:
    return to_number(element.get(name))


def _degrees(element: Element) -> float:
    return to_number(element.get("rotation") or 0.0)


def _points(element: Element) -> NDArray[np.float64]:
    """Read points written as `x,y;x,y`."""
    pairs = [pair.split(",") for pair in (element.get("points") or "").split(";") if pair.strip()]
    if not all(len(pair) == 2 for pair in pairs):
        raise HoldfastError(f"The points of a <{element.tag}> are not pairs `x,y;x,y`.")
    return np.array([[to_number(x), to_number(y)] for x, y in pairs]).reshape(-1, 2)


def _cuboid(element: Element) -> NDArray[np.float64]:
    """Give the eight corners of a cuboid as it is seen in the image."""
    corners = [f"{corner}{side}" for side in (1, 2) for corner in _CUBOID_CORNERS]
    return np.array(
        [[_number(element, f"x{corner}"), _number(element, f"y{corner}")] for corner in corners]
    )


def _skeleton(element: Element, label: str) -> Drawing:
    """Draw the box around the points of a skeleton that are in the image."""
    seen = [part for part in element.iter("points") if part.get("outside") != "1"]
    points = np.concatenate([np.zeros((0, 2)), *map(_points, seen)])
    return draw_box(label, box_around(points)) if len(points) else draw_line(label, points)


def _mask(element: Element, label: str) -> Drawing:
    """Read a mask: runs of 0 and 1 in turn, row by row, inside of a rectangle."""
    sides = [to_number(element.get(name)) for name in ("left", "top", "width", "height")]
    runs = [to_number(run) for run in (element.get("rle") or "").split(",") if run.strip()]
    values = np.array([*sides, *runs])
    whole = np.isfinite(values).all() and (values[2:] >= 0).all()
    left, top, width, height = (int(side) for side in sides) if whole else (0, 0, 0, 0)
    if not whole or sum(runs) != width * height or width * height > _LARGEST_MASK:
        raise HoldfastError(f"The rle of a <mask> of {label!r} does not fill its rectangle.")
    pixels = np.repeat(np.arange(len(runs)) % 2, np.array(runs, int)).astype(np.uint8)
    return draw_mask(label, pixels.reshape(height, width), left, top)
