"""Boxes before suppression are compared by the best of them."""

from __future__ import annotations

import numpy as np

from holdfast.export.raw_boxes import best_raw_boxes


def test_the_best_boxes_come_first_with_their_best_class_and_without_background():
    scores = np.array([[0.9, 0.1, 0.2], [0.0, 0.8, 0.3], [0.1, 0.4, 0.5]], np.float32)
    boxes = np.arange(12, dtype=np.float32).reshape(3, 4)
    found = best_raw_boxes({"raw_detection_scores": scores, "raw_detection_boxes": boxes})
    np.testing.assert_array_equal(found["detection_scores"], scores[[1, 2, 0], [1, 2, 2]])
    np.testing.assert_array_equal(found["detection_classes"], [1, 2, 2])
    np.testing.assert_array_equal(found["detection_boxes"], boxes[[1, 2, 0]])
    assert found["num_detections"] == 3


def test_of_many_boxes_a_hundred_are_kept():
    draw = np.random.default_rng(0)
    raw = {
        "raw_detection_scores": draw.random((500, 4), np.float32),
        "raw_detection_boxes": draw.random((500, 4), np.float32),
    }
    found = best_raw_boxes(raw)
    assert found["detection_scores"].shape == (100,)
    assert found["detection_scores"].min() > np.sort(raw["raw_detection_scores"][:, 1:].max(1))[399]
