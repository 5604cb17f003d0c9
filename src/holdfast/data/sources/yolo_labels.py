"""The label files of YOLO: one line an object, coordinates as shares of the image."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.data.sources.annotated_objects import Box, LabeledObject, box_around
from holdfast.data.sources.image_files import Size
from holdfast.data.sources.outlines import Polygons, polygon_area
from holdfast.errors import HoldfastError


class KeypointShape(NamedTuple):
    """`kpt_shape` of data.yaml: how many keypoints an object has, and numbers a keypoint."""

    points: int
    numbers: int  # 2: x y, 3: x y visibility


class YoloObject(NamedTuple):
    """One line; coordinates x, y as shares of the image."""

    class_index: int
    values: NDArray[np.float64]  # x, y, width, height of a box (center first), or a polygon
    is_polygon: bool
    confidence: float = 1.0
    keypoints: NDArray[np.float64] | None = None  # (K, 2) x, y; NaN = unlabeled


def parse_labels(content: bytes, shape: KeypointShape | None = None) -> list[YoloObject]:
    """Read the lines of a label file; HoldfastError names the first that cannot be understood.

    A line is `class x y width height`, with a confidence behind it or, if the data has keypoints,
    with them; or `class x1 y1 x2 y2 x3 y3 …`, a polygon.
    """
    objects = []
    for number, line in enumerate(content.decode("utf-8-sig", "replace").splitlines(), start=1):
        if line.strip():
            objects.append(_parse_line(line, number, shape))
    return objects


def to_object(item: YoloObject, size: Size) -> LabeledObject:
    """Give a line's object in pixels of an image of this size."""
    keypoints = None if item.keypoints is None else (item.keypoints * size)[:, ::-1]
    if item.is_polygon:
        polygon = item.values.reshape(-1, 2) * size
        return LabeledObject(
            item.class_index, box_around(polygon), Polygons((polygon,)), polygon_area(polygon)
        )
    x, y, width, height = item.values * (*size, *size)
    box = Box(y - height / 2, x - width / 2, y + height / 2, x + width / 2)
    return LabeledObject(item.class_index, box, confidence=item.confidence, keypoints=keypoints)


def box_area(item: YoloObject) -> float:
    """Give the area of an object's box as a share of the image's."""
    if item.is_polygon:
        width, height = np.ptp(item.values.reshape(-1, 2), axis=0)
    else:
        width, height = item.values[2:4]
    return float(width * height)


def _parse_line(line: str, number: int, shape: KeypointShape | None) -> YoloObject:
    try:
        first, *values = map(float, line.split())
    except ValueError:
        raise HoldfastError(f"Line {number} is not all numbers: {line.strip()[:60]!r}.") from None
    if not (first.is_integer() and 0 <= first < 2**31 - 1):
        raise HoldfastError(f"Line {number} starts with {first:g}, which is not a class number.")
    class_index, numbers = int(first), np.array(values)
    if shape is not None and len(values) == 4 + shape.points * shape.numbers:
        points = _keypoints(numbers[4:].reshape(shape.points, shape.numbers))
        return YoloObject(class_index, numbers[:4], False, keypoints=points)
    if shape is None and len(values) == 5:
        return YoloObject(class_index, numbers[:4], False, confidence=values[4])
    if len(values) == 4:
        return YoloObject(class_index, numbers, False)
    if shape is None and len(values) >= 6 and len(values) % 2 == 0:
        return YoloObject(class_index, numbers, True)
    raise HoldfastError(
        f"Line {number} has {len(values)} numbers after the class.",
        fix="A box has 4, a polygon an even number from 6 on, keypoints as many as kpt_shape says.",
    )


def _keypoints(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Take x, y; not labeled is visibility 0, or where there is none both coordinates 0."""
    unlabeled = values[:, 2] == 0 if values.shape[1] == 3 else (values == 0).all(axis=1)
    return np.where(unlabeled[:, None], np.nan, values[:, :2])
