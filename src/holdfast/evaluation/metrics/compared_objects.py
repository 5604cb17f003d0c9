"""What is compared: the objects that are labeled and those that were found, in pixels."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.data.input.evaluation_input import EvaluationBatch
from holdfast.evaluation.pasted_masks import PastedPart, decode_stored, encode_part, paste_mask
from holdfast.models.inference.detections import Detections

# B images of a batch, N objects of all of them; images are numbered over the whole evaluation


class LabeledObjects(NamedTuple):
    """The objects that images show, one row each."""

    image: NDArray[np.int32]  # (N,)
    boxes: NDArray[np.float32]  # (N, 4) y_min, x_min, y_max, x_max in pixels of the original image
    classes: NDArray[np.int32]  # (N,) 0-based
    is_crowd: NDArray[np.bool_]  # (N,)
    group_of: NDArray[np.bool_]  # (N,)
    difficult: NDArray[np.bool_]  # (N,)
    areas: NDArray[np.float32]  # (N,) in pixels; 0: that of the box
    masks: NDArray[np.object_] | None = None  # (N,) MaskRuns of the original image
    keypoints: NDArray[np.float32] | None = None  # (N, K, 2) y, x in pixels; NaN = unlabeled


class FoundObjects(NamedTuple):
    """The objects that a detector found, one row each; those of an image by falling score."""

    image: NDArray[np.int32]  # (N,)
    boxes: NDArray[np.float32]  # (N, 4) y_min, x_min, y_max, x_max in pixels of the original image
    classes: NDArray[np.int32]  # (N,) 0-based
    scores: NDArray[np.float32]  # (N,)
    masks: NDArray[np.object_] | None = None  # (N,) MaskRuns of the original image
    keypoints: NDArray[np.float32] | None = None  # (N, K, 2) y, x in pixels


ComparedObjects = TypeVar("ComparedObjects", LabeledObjects, FoundObjects)


def choose_objects(objects: ComparedObjects, rows: NDArray[np.bool_]) -> ComparedObjects:
    """Keep some rows."""
    columns: list[Any] = [None if column is None else column[rows] for column in objects]
    return type(objects)(*columns)


def labeled_objects(
    batch: EvaluationBatch, first_image: int = 0, shapes: Collection[str] = ()
) -> LabeledObjects:
    """Flatten the ground truth of the batch's real images; first_image is the number of the first.

    shapes: which of `masks` and `keypoints` are compared, where the batch has them.

    >>> from holdfast.data.input.evaluation_input import LabeledTruth
    >>> flags = np.zeros((1, 2), bool)
    >>> truth = LabeledTruth(
    ...     boxes=np.array([[[0, 0, 0.5, 1], [0, 0, 0, 0]]]), classes=np.zeros((1, 2)),
    ...     weights=None, confidences=None, is_crowd=flags, group_of=flags, difficult=flags,
    ...     areas=np.zeros((1, 2)), counts=np.array([1]))
    >>> batch = EvaluationBatch(
    ...     images=None, sizes=None, original_sizes=np.array([[40, 60]]), truth=truth,
    ...     source_ids=None, is_real=np.array([True]))
    >>> labeled_objects(batch).boxes.tolist()
    [[0.0, 0.0, 20.0, 60.0]]
    """
    truth = batch.truth
    rows = _rows(truth.counts, np.shape(truth.boxes)[1], batch)
    return LabeledObjects(
        image=_images(rows, first_image),
        boxes=_pixels(truth.boxes, batch)[rows],
        classes=np.asarray(truth.classes, np.int32)[rows],
        is_crowd=np.asarray(truth.is_crowd, np.bool_)[rows],
        group_of=np.asarray(truth.group_of, np.bool_)[rows],
        difficult=np.asarray(truth.difficult, np.bool_)[rows],
        areas=np.asarray(truth.areas, np.float32)[rows],
        masks=_stored_masks(batch, rows) if "masks" in shapes else None,
        keypoints=_points(truth.keypoints, batch, rows) if "keypoints" in shapes else None,
    )


def found_objects(
    detections: Detections,
    batch: EvaluationBatch,
    first_image: int = 0,
    shapes: Collection[str] = (),
) -> FoundObjects:
    """Flatten the detections in the batch's real images; the arguments are those of the truth's."""
    rows = _rows(detections.count, np.shape(detections.boxes)[1], batch)
    return FoundObjects(
        image=_images(rows, first_image),
        boxes=_pixels(detections.boxes, batch)[rows],
        classes=np.asarray(detections.classes, np.int32)[rows],
        scores=np.asarray(detections.scores, np.float32)[rows],
        masks=_detected_masks(detections, batch, rows) if "masks" in shapes else None,
        keypoints=_points(detections.keypoints, batch, rows) if "keypoints" in shapes else None,
    )


def _rows(counts: object, width: int, batch: EvaluationBatch) -> NDArray[np.bool_]:
    """Say which places of (B, width) hold an object of a real image."""
    within = np.arange(width) < np.asarray(counts)[:, None]
    rows: NDArray[np.bool_] = within & np.asarray(batch.is_real)[:, None]
    return rows


def _stored_masks(batch: EvaluationBatch, rows: NDArray[np.bool_]) -> NDArray[np.object_] | None:
    if batch.truth.encoded_masks is None:
        return None
    encoded = np.asarray(batch.truth.encoded_masks)
    return _run_lengths(
        batch, rows, lambda place, size: PastedPart(decode_stored(encoded[place], *size), 0, 0)
    )


def _detected_masks(
    detections: Detections, batch: EvaluationBatch, rows: NDArray[np.bool_]
) -> NDArray[np.object_] | None:
    if detections.masks is None:
        return None
    crops, boxes = np.asarray(detections.masks), np.asarray(detections.boxes)
    return _run_lengths(
        batch, rows, lambda place, size: paste_mask(crops[place], boxes[place], *size)
    )


def _run_lengths(
    batch: EvaluationBatch,
    rows: NDArray[np.bool_],
    part_of: Callable[[tuple[int, int], tuple[int, int]], PastedPart],
) -> NDArray[np.object_]:
    """Compress one mask after the other; part_of makes it of its place and the image's size."""
    sizes = np.asarray(batch.original_sizes).tolist()
    places = list(zip(*(axis.tolist() for axis in np.nonzero(rows)), strict=True))
    masks = np.empty(len(places), np.object_)
    for number, place in enumerate(places):
        height, width = sizes[place[0]]
        masks[number] = encode_part(part_of(place, (height, width)), height, width)
    return masks


def _points(
    keypoints: object, batch: EvaluationBatch, rows: NDArray[np.bool_]
) -> NDArray[np.float32] | None:
    if keypoints is None:
        return None
    height_width = np.asarray(batch.original_sizes, np.float32)[:, None, None, :]  # (B, 1, 1, 2)
    points: NDArray[np.float32] = (np.asarray(keypoints, np.float32) * height_width)[rows]
    return points


def _images(rows: NDArray[np.bool_], first_image: int) -> NDArray[np.int32]:
    return (first_image + np.nonzero(rows)[0]).astype(np.int32)


def _pixels(boxes: object, batch: EvaluationBatch) -> NDArray[np.float32]:
    height_width = np.asarray(batch.original_sizes, np.float32)  # (B, 2)
    return np.asarray(boxes, np.float32) * np.tile(height_width, 2)[:, None, :]
