"""One annotation of a COCO JSON file as an object of an image."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.data.sources.annotated_objects import Box, LabeledObject, relative_areas
from holdfast.data.sources.coco_document import Item
from holdfast.data.sources.image_files import Size
from holdfast.data.sources.outlines import Outline, Polygons, RunLengths
from holdfast.errors import HoldfastError

_LARGEST_ID = 2**31 - 1


def category_of(annotation: Item) -> int | None:
    """Give the category id of an annotation; None if it has no usable one."""
    try:
        number = int(annotation["category_id"])
    except (KeyError, TypeError, ValueError):
        return None
    return number if abs(number) < _LARGEST_ID else None


def to_object(
    annotation: Item,
    *,
    shift: int,
    masks: bool,
    places: Mapping[int, list[int]],
    num_keypoints: int,
) -> LabeledObject:
    """Turn an annotation into an object.

    category id + shift is the label-map id; places says for every category that has keypoints
    where each of them stands among the keypoints of all categories.
    """
    number = category_of(annotation)
    if number is None:
        raise HoldfastError(f"{_called(annotation)} has no usable category_id.")
    area = annotation.get("area")
    points = _points(annotation, places.get(number, []), num_keypoints) if num_keypoints else None
    return LabeledObject(
        class_index=number + shift - 1,
        box=_box(annotation.get("bbox")),
        outline=_outline(annotation) if masks else None,
        area=None if area is None else to_number(area),
        is_crowd=bool(annotation.get("iscrowd", 0)),
        keypoints=points,
    )


def box_areas(annotations: Sequence[Item], size: Size) -> tuple[float, ...]:
    """Give the areas of boxes as shares of the image's; () if that is not known."""
    return relative_areas((_box(annotation.get("bbox")) for annotation in annotations), size)


def to_number(value: Any) -> float:
    """Give a number of the file as a float; NaN where it is none, for the checks to find."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _box(values: Any) -> Box:
    """Give x, y, width, height as corners; NaN where they are missing."""
    numbers = [to_number(value) for value in values] if isinstance(values, list) else []
    x, y, width, height = numbers if len(numbers) == 4 else [math.nan] * 4
    return Box(y, x, y + height, x + width)


def _outline(annotation: Item) -> Outline | None:
    match annotation.get("segmentation"):
        case None | []:
            return None
        case {"counts": counts, "size": [int(height), int(width)]}:
            return RunLengths(counts, Size(width, height))
        case [*parts] if all(isinstance(part, np.ndarray) and _is_flat(part) for part in parts):
            return Polygons(tuple(part.reshape(-1, 2) for part in parts))
    raise HoldfastError(
        f"{_called(annotation)} has a segmentation that is neither polygons nor a mask."
    )


def _is_flat(part: NDArray[np.float64]) -> bool:
    return part.ndim == 1 and part.size % 2 == 0


def _points(annotation: Item, places: list[int], num_keypoints: int) -> NDArray[np.float64] | None:
    """Give the keypoints (K, 2) y, x of an object; NaN where visibility 0 says: not labeled."""
    values = annotation.get("keypoints")
    if not values:
        return None
    if not isinstance(values, list) or len(values) != 3 * len(places):
        needed = f"3 numbers for each of its category's {len(places)} keypoints"
        raise HoldfastError(f"{_called(annotation)} has keypoints that are not {needed}.")
    points = np.full((num_keypoints, 2), np.nan)
    for place, x, y, visibility in zip(
        places, values[::3], values[1::3], values[2::3], strict=True
    ):
        if visibility:
            points[place] = to_number(y), to_number(x)
    return points


def _called(annotation: Item) -> str:
    return f"Annotation {annotation.get('id', 'without id')}"
