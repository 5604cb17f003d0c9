"""One object of a Supervisely annotation as a drawing."""

from __future__ import annotations

import base64
import io
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from holdfast.data.sources.annotated_objects import box_around
from holdfast.data.sources.drawings import (
    Drawing,
    draw_box,
    draw_line,
    draw_mask,
    draw_polygon,
    to_number,
    to_points,
)
from holdfast.errors import HoldfastError

Item = Mapping[str, Any]  # an object of the JSON file

_LARGEST_PNG = 2**28  # bytes after unpacking; more is a mistake, and would fill the memory


def draw_figure(item: Item, kind: str, label: str) -> Drawing | None:
    """Draw an object; None if its kind is not known, HoldfastError if it is broken."""
    if isinstance(item.get("bitmap"), dict):
        return _bitmap(item["bitmap"], label)
    if isinstance(item.get("nodes"), dict):
        return _graph(item["nodes"], label)
    points, holes = _points(item)
    match kind:
        case "rectangle" | "cuboid":
            return draw_box(label, box_around(points)) if len(points) else draw_line(label, points)
        case "line" | "polyline" | "point":
            return draw_line(label, points)
        case "polygon":
            return draw_polygon(label, points, holes)
        case "" | "any":  # old annotations do not say
            if len(points) == 2:
                return draw_box(label, box_around(points))
            return draw_polygon(label, points, holes)
    return None


def _points(item: Item) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """Give the points and the holes of an object; a cuboid's points are a plain list."""
    match item.get("points"):
        case {"exterior": list(exterior), "interior": list(holes)}:
            return to_points(exterior), [to_points(hole) for hole in holes]
        case {"exterior": list(exterior)}:
            return to_points(exterior), []
        case list(points):
            return to_points(points), []
    raise HoldfastError("It has no points and no bitmap.")


def _graph(nodes: Item, label: str) -> Drawing:
    """Draw the box around the points of a skeleton."""
    places = [node.get("loc") for node in nodes.values() if isinstance(node, Mapping)]
    points = to_points(places)
    return draw_box(label, box_around(points)) if len(points) else draw_line(label, points)


def _bitmap(bitmap: Item, label: str) -> Drawing:
    """Read a PNG that is packed by zlib and written as base64; origin is where it begins."""
    match bitmap:
        case {"data": str(data), "origin": [x, y]}:
            left, top = to_number(x), to_number(y)
        case _:
            raise HoldfastError("Its bitmap has no data or no origin.")
    if not np.isfinite([left, top]).all():
        raise HoldfastError("The origin of its bitmap is not a pair of numbers.")
    try:
        packed = base64.b64decode(data)
        with Image.open(io.BytesIO(zlib.decompressobj().decompress(packed, _LARGEST_PNG))) as image:
            bands = np.asarray(image.convert("RGBA") if "A" in image.mode else image.convert("L"))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError, zlib.error):
        raise HoldfastError("Its bitmap cannot be decoded.") from None
    # With an alpha channel, that is the mask; without, any pixel that is not black.
    pixels = bands[..., 3] if bands.ndim == 3 else bands
    return draw_mask(label, (pixels > 0).astype(np.uint8), round(left), round(top))
