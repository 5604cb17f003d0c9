"""From the objects that an annotation lists to a Sample."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.data.sample import Sample
from holdfast.data.sources.image_files import Picture, Size
from holdfast.data.sources.outlines import Outline, rasterise


class Box(NamedTuple):
    """A box as its annotation gives it, in pixels; nothing is put in order or cut."""

    y_min: float
    x_min: float
    y_max: float
    x_max: float


class LabeledObject(NamedTuple):
    """One object of an image; coordinates in pixels of the image."""

    class_index: int  # 0-based
    box: Box
    outline: Outline | None = None
    area: float | None = None  # None: that of the box
    difficult: bool = False
    truncated: bool = False
    is_crowd: bool = False
    group_of: bool = False  # Open Images: the box is around several objects that touch
    confidence: float = 1.0
    keypoints: NDArray[np.float64] | None = None  # (K, 2) y, x; NaN = unlabeled


@np.errstate(over="ignore", invalid="ignore")  # boxes of absurd numbers are for the checks to find
def build_sample(
    source_id: str,
    picture: Picture,
    objects: Sequence[LabeledObject],
    *,
    masks: bool = False,
    num_keypoints: int = 0,
) -> Sample:
    """Gather the objects of an image; masks and keypoints if the data set has them at all."""
    boxes = np.array([item.box for item in objects], np.float64).reshape(-1, 4)
    width, height = picture.size
    keypoints = _keypoints(objects, num_keypoints, picture.size) if num_keypoints else None

    def each(values: Any, dtype: type) -> NDArray[Any]:
        return np.array(list(values), dtype)

    return Sample(
        image=picture.encoded,
        source_id=source_id,
        boxes=(boxes / [height, width, height, width]).astype(np.float32),
        classes=each((item.class_index for item in objects), np.int32),
        weights=np.ones(len(objects), np.float32),
        confidences=each((item.confidence for item in objects), np.float32),
        difficult=each((item.difficult for item in objects), bool),
        truncated=each((item.truncated for item in objects), bool),
        group_of=each((item.group_of for item in objects), bool),
        is_crowd=each((item.is_crowd for item in objects), bool),
        areas=each(map(_area, objects), np.float32),
        masks=_masks(objects, picture.size) if masks else None,
        keypoints=keypoints,
        visibilities=None if keypoints is None else ~np.isnan(keypoints).any(axis=-1),
    )


def box_around(points: NDArray[np.float64]) -> Box:
    """Give the box around points (P, 2) x, y."""
    left, top = points.min(axis=0)
    right, bottom = points.max(axis=0)
    return Box(float(top), float(left), float(bottom), float(right))


def relative_areas(boxes: Iterable[Box], size: Size) -> tuple[float, ...]:
    """Give the areas of boxes as shares of the image's; () if its size is not known."""
    if min(size) <= 0:
        return ()
    pixels = size.width * size.height
    return tuple((box.y_max - box.y_min) * (box.x_max - box.x_min) / pixels for box in boxes)


def _area(item: LabeledObject) -> float:
    if item.area is not None:
        return item.area
    return (item.box.y_max - item.box.y_min) * (item.box.x_max - item.box.x_min)


def _masks(objects: Sequence[LabeledObject], size: Size) -> NDArray[np.uint8]:
    """Draw the outlines; an object without one has an empty mask."""
    masks = np.zeros((len(objects), size.height, size.width), np.uint8)
    for mask, item in zip(masks, objects, strict=True):
        if item.outline is not None:
            mask[:] = rasterise(item.outline, size)
    return masks


def _keypoints(
    objects: Sequence[LabeledObject], num_keypoints: int, size: Size
) -> NDArray[np.float32]:
    keypoints = np.full((len(objects), num_keypoints, 2), np.nan)
    for row, item in zip(keypoints, objects, strict=True):
        if item.keypoints is not None:
            row[:] = item.keypoints
    return (keypoints / [size.height, size.width]).astype(np.float32)
