"""What an exported detector gives, by the OD API's names, as Detections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.models.inference.detections import Detections

NEEDED_OUTPUTS = ("detection_boxes", "detection_scores", "detection_classes", "num_detections")


def as_detections(found: Mapping[str, NDArray[Any]]) -> Detections:
    """Give the detections of a batch; label-map ids, which count from 1, become classes."""
    scores = found["detection_scores"]
    count = found["num_detections"].astype(np.int32)
    real = np.arange(scores.shape[1]) < count[:, None]
    classes = found["detection_classes"].astype(np.int32) - 1
    return Detections(
        boxes=found["detection_boxes"],
        scores=scores,
        classes=np.where(real, classes, 0),
        count=count,
        masks=found.get("detection_masks"),
        keypoints=found.get("detection_keypoints"),
        keypoint_scores=found.get("detection_keypoint_scores"),
    )
