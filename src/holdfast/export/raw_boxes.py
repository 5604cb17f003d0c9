"""Boxes before suppression as if they were detections, so that they can be compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.export.comparison import Found
from holdfast.export.detection_outputs import FIRST_ID

_COUNT = 100


def best_raw_boxes(found: Found) -> dict[str, NDArray[Any]]:
    """Give the boxes with the best scores, each with its best class, beside the raw outputs."""
    scores = found["raw_detection_scores"][:, 1:]  # without background
    order = np.argsort(-scores.max(axis=1), kind="stable")[:_COUNT]
    return {
        "detection_boxes": found["raw_detection_boxes"][order],
        "detection_scores": scores.max(axis=1)[order],
        "detection_classes": (scores.argmax(axis=1)[order] + FIRST_ID).astype(np.float32),
        "num_detections": np.float32(len(order)),
        "raw_detection_scores": found["raw_detection_scores"],
    }
