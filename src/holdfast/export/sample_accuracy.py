"""How well a detector and its export find what is labeled in the sample images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.data.sample import Sample
from holdfast.evaluation.metrics.coco_boxes import CocoEvaluator
from holdfast.evaluation.metrics.compared_objects import FoundObjects, LabeledObjects
from holdfast.export.comparison import Found
from holdfast.export.detection_outputs import FIRST_ID
from holdfast.export.sample_images import SampleImages

_METRIC = "DetectionBoxes_Precision/mAP"

# N objects of an image


def sample_accuracy(
    samples: SampleImages, found: Sequence[Found], num_classes: int
) -> float | None:
    """Give COCO's mAP of boxes; None where nothing is labeled."""
    evaluator = CocoEvaluator({FIRST_ID + each: str(each) for each in range(num_classes)})
    rows = zip(samples.images, samples.labels, found, strict=True)
    for number, (image, label, outputs) in enumerate(rows):
        size = np.tile(np.array(image.shape[:2], np.float32), 2)
        evaluator.add(_labeled(label, number, size), _found(outputs, number, size))
    value = evaluator.result().metrics[_METRIC]
    return value if value >= 0.0 else None


def _labeled(label: Sample, number: int, size: NDArray[np.float32]) -> LabeledObjects:
    count = len(label.boxes)
    nothing = np.zeros(count, np.bool_)
    return LabeledObjects(
        image=np.full(count, number, np.int32),
        boxes=np.asarray(label.boxes, np.float32).reshape(-1, 4) * size,
        classes=np.asarray(label.classes, np.int32),
        is_crowd=nothing if label.is_crowd is None else np.asarray(label.is_crowd, np.bool_),
        group_of=nothing,
        difficult=nothing,
        areas=np.zeros(count, np.float32) if label.areas is None else np.asarray(label.areas),
    )


def _found(outputs: Found, number: int, size: NDArray[np.float32]) -> FoundObjects:
    count = int(outputs["num_detections"])
    return FoundObjects(
        image=np.full(count, number, np.int32),
        boxes=np.asarray(outputs["detection_boxes"][:count], np.float32) * size,
        classes=np.round(outputs["detection_classes"][:count]).astype(np.int32) - FIRST_ID,
        scores=np.asarray(outputs["detection_scores"][:count], np.float32),
    )
