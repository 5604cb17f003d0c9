"""One class measured by COCO's rules, which faster-coco-eval knows."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from faster_coco_eval import COCO, COCOeval_faster
from numpy.typing import NDArray

from holdfast.evaluation.metrics.compared_objects import FoundObjects, LabeledObjects

# N objects, T IoU thresholds 0.5, 0.55, … 0.95, R recalls, A ranges of area, L limits of detections

NO_OBJECTS = -1.0  # COCO's value of a measure for which no object counts

Rows = NDArray[np.void]
LABELED = np.dtype(
    [("image", "i4"), ("class_index", "i4"), ("box", "f4", 4), ("area", "f4"), ("is_crowd", "?")]
)
FOUND = np.dtype([("image", "i4"), ("class_index", "i4"), ("box", "f4", 4), ("score", "f4")])


class Measure(NamedTuple):
    """One of COCO's twelve numbers."""

    name: str  # as the OD API calls it
    curve: Literal["precision", "recall"]
    threshold: int | None = None  # which of T; None: the mean over all
    area: int = 0  # which of A: all, small, medium, large
    limit: int = 2  # which of L: 1, 10, 100 detections an image


MEASURES = (
    Measure("Precision/mAP", "precision"),
    Measure("Precision/mAP@.50IOU", "precision", threshold=0),
    Measure("Precision/mAP@.75IOU", "precision", threshold=5),
    Measure("Precision/mAP (small)", "precision", area=1),
    Measure("Precision/mAP (medium)", "precision", area=2),
    Measure("Precision/mAP (large)", "precision", area=3),
    Measure("Recall/AR@1", "recall", limit=0),
    Measure("Recall/AR@10", "recall", limit=1),
    Measure("Recall/AR@100", "recall"),
    Measure("Recall/AR@100 (small)", "recall", area=1),
    Measure("Recall/AR@100 (medium)", "recall", area=2),
    Measure("Recall/AR@100 (large)", "recall", area=3),
)


def labeled_rows(objects: LabeledObjects) -> Rows:
    """Pack labeled objects; one without an area has that of its box."""
    rows = np.zeros(len(objects.image), LABELED)
    boxes = objects.boxes
    box_areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    rows["image"], rows["class_index"] = objects.image, objects.classes
    rows["box"], rows["is_crowd"] = boxes, objects.is_crowd
    rows["area"] = np.where(objects.areas > 0.0, objects.areas, box_areas)
    return rows


def found_rows(objects: FoundObjects) -> Rows:
    """Pack found objects."""
    rows = np.zeros(len(objects.image), FOUND)
    rows["image"], rows["class_index"] = objects.image, objects.classes
    rows["box"], rows["score"] = objects.boxes, objects.scores
    return rows


def class_measures(labeled: Rows, found: Rows) -> NDArray[np.float64]:
    """Give the value of each of MEASURES for the objects of one class, all as labeled and found.

    A crowd does not count as an object, and absorbs what is found in it.
    """
    images = np.union1d(labeled["image"], found["image"]).tolist()
    box_areas = np.prod(_sizes(found), axis=1, dtype=np.float64)
    # The library's form of the data takes much more memory than ours: it exists only in here.
    evaluation = COCOeval_faster(
        _coco(images, labeled, area=labeled["area"], iscrowd=labeled["is_crowd"].astype(int)),
        _coco(images, found, area=box_areas, score=found["score"]),
        iouType="bbox",
    )
    evaluation.evaluate()
    evaluation.accumulate()
    precision = evaluation.eval["precision"][:, :, 0]  # (T, R, A, L)
    recall = evaluation.eval["recall"][:, 0]  # (T, A, L)
    return np.array([_value(measure, precision, recall) for measure in MEASURES])


def _value(measure: Measure, precision: NDArray[np.float64], recall: NDArray[np.float64]) -> float:
    curve = precision if measure.curve == "precision" else recall
    values = curve[..., measure.area, measure.limit]
    # Where no object counts, all values are NO_OBJECTS, and so is their mean.
    return float(np.mean(values if measure.threshold is None else values[measure.threshold]))


def _coco(images: list[int], rows: Rows, **further: NDArray[np.generic]) -> COCO:
    """Write rows as annotations of one category; further are columns by the library's names."""
    x_y_width_height = np.hstack([rows["box"][:, 1::-1], _sizes(rows)[:, ::-1]])
    columns = {"image_id": rows["image"], "bbox": x_y_width_height, **further}
    values = zip(*(column.tolist() for column in columns.values()), strict=True)
    return COCO(
        {
            "images": [{"id": image} for image in images],
            "categories": [{"id": 1}],
            "annotations": [
                # Ids begin with 1: to the library, 0 means "no match".
                {"id": number, "category_id": 1, **dict(zip(columns, each, strict=True))}
                for number, each in enumerate(values, start=1)
            ],
        }
    )


def _sizes(rows: Rows) -> NDArray[np.float32]:
    """Give heights and widths, (N, 2)."""
    sizes: NDArray[np.float32] = rows["box"][:, 2:] - rows["box"][:, :2]
    return sizes
