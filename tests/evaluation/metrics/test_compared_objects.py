"""From batches to rows of objects in pixels."""

from __future__ import annotations

import numpy as np

from holdfast.data.input.evaluation_input import EvaluationBatch, LabeledTruth
from holdfast.evaluation.metrics.compared_objects import found_objects, labeled_objects
from holdfast.models.inference.detections import Detections

FLAGS = np.zeros((3, 2), bool)
BOXES = np.array([[[0, 0, 0.5, 1], [0.5, 0.5, 1, 1]]] * 3, np.float32)
BATCH = EvaluationBatch(
    images=None,
    sizes=None,
    original_sizes=np.array([[10, 20], [100, 200], [100, 200]]),
    truth=LabeledTruth(
        boxes=BOXES,
        classes=np.array([[0, 1], [2, 3], [4, 5]]),
        weights=np.zeros((3, 2)),
        confidences=np.zeros((3, 2)),
        is_crowd=FLAGS,
        group_of=FLAGS,
        difficult=~FLAGS,
        areas=np.array([[0.0, 7.0]] * 3),
        counts=np.array([1, 2, 2]),
    ),
    source_ids=None,
    is_real=np.array([True, True, False]),
)


def test_labeled_objects_are_those_within_the_count_of_real_images():
    objects = labeled_objects(BATCH, first_image=40)
    assert objects.image.tolist() == [40, 41, 41]
    assert objects.classes.tolist() == [0, 2, 3]
    assert objects.areas.tolist() == [0.0, 0.0, 7.0]
    assert objects.difficult.all()
    assert not objects.is_crowd.any()
    assert objects.boxes.tolist() == [[0, 0, 5, 20], [0, 0, 50, 200], [50, 100, 100, 200]]


def test_an_object_of_weight_0_is_still_an_object():
    assert len(labeled_objects(BATCH).image) == 3


def test_found_objects_are_those_within_the_count_of_real_images():
    scores = np.array([[0.9, 0.8], [0.7, 0.6], [0.5, 0.4]])
    detections = Detections(BOXES, scores, np.array([[0, 1], [1, 0], [1, 1]]), np.array([2, 0, 2]))
    objects = found_objects(detections, BATCH, first_image=5)
    assert objects.image.tolist() == [5, 5]
    assert objects.classes.tolist() == [0, 1]
    assert objects.scores.tolist() == np.array([0.9, 0.8], np.float32).tolist()
    assert objects.boxes.tolist() == [[0, 0, 5, 20], [5, 10, 10, 20]]
