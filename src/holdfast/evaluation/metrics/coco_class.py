"""One class measured by COCO's rules, which faster-coco-eval knows: boxes, masks or keypoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from faster_coco_eval import COCO, COCOeval_faster
from faster_coco_eval.core import mask as mask_api
from numpy.typing import NDArray

from holdfast.evaluation.metrics.compared_objects import FoundObjects, LabeledObjects

# N objects, K keypoints, T IoU thresholds 0.5, 0.55, … 0.95, R recalls, A ranges of area,
# L limits of detections

NO_OBJECTS = -1.0  # COCO's value of a measure for which no object counts

Rows = NDArray[np.void]
LABELED = np.dtype(
    [("image", "i4"), ("class_index", "i4"), ("box", "f4", 4), ("area", "f4"), ("is_crowd", "?")]
)
FOUND = np.dtype([("image", "i4"), ("class_index", "i4"), ("box", "f4", 4), ("score", "f4")])


class Measure(NamedTuple):
    """One of COCO's numbers: twelve of boxes and masks, ten of keypoints."""

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


# COCO's numbers of keypoints are AR and, at 20 detections an image, AR at OKS 0.5 and at 0.75. The
# OD API writes them under the names that these places have among the numbers of boxes.
KEYPOINT_MEASURES = (
    Measure("Precision/mAP", "precision", limit=0),
    Measure("Precision/mAP@.50IOU", "precision", threshold=0, limit=0),
    Measure("Precision/mAP@.75IOU", "precision", threshold=5, limit=0),
    Measure("Precision/mAP (medium)", "precision", area=1, limit=0),
    Measure("Precision/mAP (large)", "precision", area=2, limit=0),
    Measure("Recall/AR@1", "recall", limit=0),
    Measure("Recall/AR@10", "recall", threshold=0, limit=0),
    Measure("Recall/AR@100", "recall", threshold=5, limit=0),
    Measure("Recall/AR@100 (medium)", "recall", area=1, limit=0),
    Measure("Recall/AR@100 (large)", "recall", area=2, limit=0),
)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What of two objects is compared, and which numbers come out of it."""

    kind: Literal["bbox", "segm", "keypoints"]  # as the library calls it
    prefix: str  # of the metrics
    measures: tuple[Measure, ...] = MEASURES
    sigmas: tuple[float, ...] | None = None  # K: how far off a keypoint may be, by its kind


BOXES = Comparison(kind="bbox", prefix="DetectionBoxes_")
MASKS = Comparison(kind="segm", prefix="DetectionMasks_")


def labeled_rows(objects: LabeledObjects) -> Rows:
    """Pack labeled objects; one without an area has that of its box."""
    rows = _with_shapes(objects, LABELED)
    boxes = objects.boxes
    box_areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    rows["image"], rows["class_index"] = objects.image, objects.classes
    rows["box"], rows["is_crowd"] = boxes, objects.is_crowd
    rows["area"] = np.where(objects.areas > 0.0, objects.areas, box_areas)
    return rows


def found_rows(objects: FoundObjects) -> Rows:
    """Pack found objects."""
    rows = _with_shapes(objects, FOUND)
    rows["image"], rows["class_index"] = objects.image, objects.classes
    rows["box"], rows["score"] = objects.boxes, objects.scores
    return rows


def _with_shapes(objects: LabeledObjects | FoundObjects, dtype: np.dtype[np.void]) -> Rows:
    """Make rows to be filled, which have masks and keypoints already if the objects have any."""
    columns: dict[str, NDArray[Any]] = {}
    if objects.masks is not None:
        columns["mask"] = objects.masks
    if objects.keypoints is not None:
        columns["keypoints"] = objects.keypoints
    kinds = [(name, each.dtype.str, each.shape[1:]) for name, each in columns.items()]
    rows = np.zeros(len(objects.image), np.dtype([*dtype.descr, *kinds]))
    for name, each in columns.items():
        rows[name] = each
    return rows


def class_measures(
    labeled: Rows, found: Rows, comparison: Comparison = BOXES
) -> NDArray[np.float64]:
    """Give the value of each measure for the objects of one class, all as labeled and found.

    A crowd does not count as an object, and absorbs what is found in it. Nor does an object without
    labeled keypoints, where these are compared.
    """
    images = _images(labeled, found, comparison)
    crowds = {"iscrowd": labeled["is_crowd"].astype(int).tolist()}
    known = {"area": labeled["area"].tolist(), **crowds, **_shapes(labeled, comparison)}
    shapes = _shapes(found, comparison)
    detected = {"area": _found_areas(found, shapes), "score": found["score"].tolist(), **shapes}
    # The library's form of the data takes much more memory than ours: it exists only in here.
    evaluation = COCOeval_faster(
        _coco(images, labeled, known),
        _coco(images, found, detected),
        iouType=comparison.kind,
        kpt_oks_sigmas=None if comparison.sigmas is None else list(comparison.sigmas),
    )
    evaluation.evaluate()
    evaluation.accumulate()
    precision = evaluation.eval["precision"][:, :, 0]  # (T, R, A, L)
    recall = evaluation.eval["recall"][:, 0]  # (T, A, L)
    return np.array([_value(measure, precision, recall) for measure in comparison.measures])


def _images(labeled: Rows, found: Rows, comparison: Comparison) -> list[dict[str, int]]:
    numbers = np.union1d(labeled["image"], found["image"]).tolist()
    if comparison.kind != "segm":
        return [{"id": number} for number in numbers]
    rows = ((each["image"].tolist(), each["mask"].tolist()) for each in (labeled, found))
    sizes = {
        number: {"height": mask.height, "width": mask.width}
        for some, masks in rows
        for number, mask in zip(some, masks, strict=True)
    }
    return [{"id": number, **sizes[number]} for number in numbers]


def _shapes(rows: Rows, comparison: Comparison) -> dict[str, list[Any]]:
    """Give the columns that are compared beside the boxes, by the library's names."""
    match comparison.kind:
        case "bbox":
            return {}
        case "segm":
            return {"segmentation": [mask.coco() for mask in rows["mask"].tolist()]}
        case "keypoints":
            points = rows["keypoints"].astype(np.float64)  # (N, K, 2)
            is_known = np.isfinite(points[..., 0]) & np.isfinite(points[..., 1])  # (N, K)
            x_y = np.where(is_known[..., None], points, 0.0)[..., ::-1]
            flat = np.concatenate([x_y, 2.0 * is_known[..., None]], axis=-1)  # (N, K, 3)
            return {
                "keypoints": [each.ravel().tolist() for each in flat],
                "num_keypoints": is_known.sum(axis=-1).tolist(),
            }


def _found_areas(found: Rows, shapes: dict[str, list[Any]]) -> list[float]:
    if masks := shapes.get("segmentation"):
        return [float(area) for area in mask_api.area(masks)]
    areas: list[float] = np.prod(_sizes(found), axis=1, dtype=np.float64).tolist()
    return areas


def _value(measure: Measure, precision: NDArray[np.float64], recall: NDArray[np.float64]) -> float:
    curve = precision if measure.curve == "precision" else recall
    values = curve[..., measure.area, measure.limit]
    # Where no object counts, all values are NO_OBJECTS, and so is their mean.
    return float(np.mean(values if measure.threshold is None else values[measure.threshold]))


def _coco(images: list[dict[str, int]], rows: Rows, further: dict[str, list[Any]]) -> COCO:
    """Write rows as annotations of one category; further are columns by the library's names."""
    x_y_width_height = np.hstack([rows["box"][:, 1::-1], _sizes(rows)[:, ::-1]])
    boxes = {"image_id": rows["image"].tolist(), "bbox": x_y_width_height.tolist()}
    columns: dict[str, list[Any]] = {**boxes, **further}
    values = zip(*columns.values(), strict=True)
    return COCO(
        {
            "images": images,
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
