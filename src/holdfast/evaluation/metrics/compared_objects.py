"""What is compared: the objects that are labeled and those that were found, in pixels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.data.input.evaluation_input import EvaluationBatch
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


class FoundObjects(NamedTuple):
    """The objects that a detector found, one row each; those of an image by falling score."""

    image: NDArray[np.int32]  # (N,)
    boxes: NDArray[np.float32]  # (N, 4) y_min, x_min, y_max, x_max in pixels of the original image
    classes: NDArray[np.int32]  # (N,) 0-based
    scores: NDArray[np.float32]  # (N,)


def labeled_objects(batch: EvaluationBatch, first_image: int = 0) -> LabeledObjects:
    """Flatten the ground truth of the batch's real images; first_image is the number of the first.

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
    )


def found_objects(
    detections: Detections, batch: EvaluationBatch, first_image: int = 0
) -> FoundObjects:
    """Flatten the detections in the batch's real images; first_image is the number of the first."""
    rows = _rows(detections.count, np.shape(detections.boxes)[1], batch)
    return FoundObjects(
        image=_images(rows, first_image),
        boxes=_pixels(detections.boxes, batch)[rows],
        classes=np.asarray(detections.classes, np.int32)[rows],
        scores=np.asarray(detections.scores, np.float32)[rows],
    )


def _rows(counts: object, width: int, batch: EvaluationBatch) -> NDArray[np.bool_]:
    """Say which places of (B, width) hold an object of a real image."""
    within = np.arange(width) < np.asarray(counts)[:, None]
    rows: NDArray[np.bool_] = within & np.asarray(batch.is_real)[:, None]
    return rows


def _images(rows: NDArray[np.bool_], first_image: int) -> NDArray[np.int32]:
    return (first_image + np.nonzero(rows)[0]).astype(np.int32)


def _pixels(boxes: object, batch: EvaluationBatch) -> NDArray[np.float32]:
    height_width = np.asarray(batch.original_sizes, np.float32)  # (B, 2)
    return np.asarray(boxes, np.float32) * np.tile(height_width, 2)[:, None, :]
