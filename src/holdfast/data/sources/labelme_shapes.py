"""The shapes of a LabelMe file, put together into objects."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from holdfast.data.sources.annotated_objects import Box, LabeledObject, box_around, relative_areas
from holdfast.data.sources.image_files import Size
from holdfast.data.sources.outlines import Bitmap, Outline, Polygons, polygon_area
from holdfast.errors import HoldfastError

_CIRCLE_POINTS = 64
_LINES = ("line", "linestrip")
_AREAS = ("rectangle", "polygon", "circle", "mask")
_FEWEST_POINTS = {"rectangle": 2, "polygon": 3, "circle": 2, "mask": 2, "point": 1}


class LabelMeShape(NamedTuple):
    """One shape as the file gives it."""

    label: str
    kind: str  # shape_type
    points: NDArray[np.float64]  # (P, 2) x, y in pixels
    group: str | None  # shapes of one object share it; None: an object of its own
    pixels: NDArray[np.uint8] | None = None  # of a mask: (h, w) from its first point on


class ShapeGroup(NamedTuple):
    """The shapes of one object and the points that mark its keypoints."""

    shapes: tuple[LabelMeShape, ...]
    keypoints: tuple[LabelMeShape, ...] = ()

    @property
    def label(self) -> str:
        """The class of the object."""
        return self.shapes[0].label


def parse_shapes(content: Mapping[str, Any]) -> list[LabelMeShape]:
    """Read the shapes of a file; HoldfastError says which is wrong."""
    shapes = content.get("shapes")
    if not isinstance(shapes, list):
        raise HoldfastError("It has no list `shapes`.")
    return [_parse(shape, index) for index, shape in enumerate(shapes)]


def group_shapes(shapes: Sequence[LabelMeShape]) -> list[ShapeGroup]:
    """Put shapes of equal label and group_id together: parts of one object.

    Points whose group_id is that of an area are the keypoints of its first object; all other
    shapes are objects.
    """
    owners = {shape.group for shape in shapes if shape.kind in _AREAS and shape.group is not None}
    objects: dict[Any, list[LabelMeShape]] = {}
    keypoints: dict[Any, list[LabelMeShape]] = {}
    for index, shape in enumerate(shapes):
        if shape.kind == "point" and shape.group in owners:
            keypoints.setdefault(shape.group, []).append(shape)
        else:
            alone = shape.group is None
            key = index if alone else (shape.label, shape.group)
            objects.setdefault(key, []).append(shape)
    groups = []
    for parts in objects.values():
        is_area = parts[0].kind in _AREAS
        points = keypoints.pop(parts[0].group, []) if is_area else []
        groups.append(ShapeGroup(tuple(parts), tuple(points)))
    return groups


def to_object(
    group: ShapeGroup, class_index: int, *, masks: bool, keypoint_names: Sequence[str]
) -> LabeledObject:
    """Give an object in pixels; lines and points enclose nothing, so their mask is empty."""
    areas = [shape for shape in group.shapes if shape.kind in _AREAS]
    return LabeledObject(
        class_index=class_index,
        box=_box_of_all(group),
        outline=_outline(areas) if masks and areas else None,
        area=sum(map(_area, areas)) if areas else 0.0,
        keypoints=_keypoints(group.keypoints, keypoint_names),
    )


def box_areas(groups: Sequence[ShapeGroup], size: Size) -> tuple[float, ...]:
    """Give the areas of the objects' boxes as shares of the image's; () if that is not known."""
    return relative_areas(map(_box_of_all, groups), size)


def has_outline(group: ShapeGroup) -> bool:
    """Tell whether an object is drawn more closely than by a rectangle."""
    return any(shape.kind in ("polygon", "circle", "mask") for shape in group.shapes)


def _parse(shape: Any, index: int) -> LabelMeShape:
    if not isinstance(shape, dict) or not str(shape.get("label") or "").strip():
        raise HoldfastError(f"shapes[{index}] has no label.")
    kind = str(shape.get("shape_type") or "polygon")
    if kind not in _FEWEST_POINTS and kind not in _LINES:
        known = ", ".join((*_FEWEST_POINTS, *_LINES))
        raise HoldfastError(f"shapes[{index}] is a {kind!r}; known are {known}.")
    try:
        points = np.array(shape.get("points"), np.float64).reshape(-1, 2)
    except (TypeError, ValueError):
        raise HoldfastError(f"shapes[{index}] has points that are not pairs of numbers.") from None
    if len(points) < (fewest := _FEWEST_POINTS.get(kind, 2)):
        raise HoldfastError(f"shapes[{index}] is a {kind} of {len(points)} points, not {fewest}.")
    pixels = _pixels(shape.get("mask"), index) if kind == "mask" else None
    group = shape.get("group_id")
    return LabelMeShape(
        str(shape["label"]).strip(), kind, points, None if group is None else str(group), pixels
    )


def _pixels(text: Any, index: int) -> NDArray[np.uint8]:
    try:
        with Image.open(io.BytesIO(base64.b64decode(text))) as image:
            return (np.asarray(image.convert("L")) > 0).astype(np.uint8)
    except (OSError, SyntaxError, TypeError, ValueError, Image.DecompressionBombError):
        raise HoldfastError(f"shapes[{index}] has a mask that cannot be decoded.") from None


def _box_of_all(group: ShapeGroup) -> Box:
    boxes = np.array([_box(shape) for shape in group.shapes])
    return Box(*boxes[:, :2].min(axis=0).tolist(), *boxes[:, 2:].max(axis=0).tolist())


def _box(shape: LabelMeShape) -> Box:
    if shape.kind == "circle":
        (x, y), radius = shape.points[0], _radius(shape)
        return Box(y - radius, x - radius, y + radius, x + radius)
    if shape.pixels is not None:
        left, top = shape.points[0]
        height, width = shape.pixels.shape
        return Box(top, left, top + height, left + width)
    return box_around(shape.points)


def _radius(shape: LabelMeShape) -> float:
    """Give the distance of a circle's two points: its center and one on its line."""
    return math.dist(shape.points[0], shape.points[1])


def _polygon(shape: LabelMeShape) -> NDArray[np.float64]:
    """Give the corners (P, 2) of an area."""
    if shape.kind == "circle":
        angles = np.linspace(0, 2 * math.pi, _CIRCLE_POINTS, endpoint=False)
        around = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return np.asarray(shape.points[0] + _radius(shape) * around)
    if shape.kind == "rectangle":
        (left, top), (right, bottom) = shape.points.min(axis=0), shape.points.max(axis=0)
        return np.array([[left, top], [right, top], [right, bottom], [left, bottom]])
    return shape.points


def _area(shape: LabelMeShape) -> float:
    if shape.pixels is not None:
        return float(shape.pixels.sum())
    return polygon_area(_polygon(shape))


def _outline(areas: Sequence[LabelMeShape]) -> Outline:
    bitmaps = [shape for shape in areas if shape.pixels is not None]
    if not bitmaps:
        return Polygons(tuple(_polygon(shape) for shape in areas))
    if len(areas) > 1:
        raise HoldfastError("An object is drawn by a mask and other shapes; only one is read.")
    (shape,), (left, top) = bitmaps, np.round(bitmaps[0].points[0]).astype(int)
    assert shape.pixels is not None
    return Bitmap(shape.pixels, int(left), int(top))


def _keypoints(points: Sequence[LabelMeShape], names: Sequence[str]) -> NDArray[np.float64] | None:
    if not names:
        return None
    keypoints = np.full((len(names), 2), np.nan)
    for point in points:
        keypoints[names.index(point.label)] = point.points[0][::-1]
    return keypoints
