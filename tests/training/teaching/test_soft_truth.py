"""Labels and a teacher's detections become one ground truth, each object once."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.data.sample import GroundTruth
from holdfast.models.inference.detections import Detections
from holdfast.training.teaching.soft_truth import MOST_FOUND, soft_truth

SHAPE = (100, 100)
LEFT, RIGHT = (0.1, 0.1, 0.5, 0.4), (0.1, 0.6, 0.5, 0.9)
NEAR_LEFT = (0.1, 0.12, 0.5, 0.42)
NOWHERE = (0.0, 0.0, 0.0, 0.0)


def joined(labels, found, *, size=(100, 100), count: int | None = None) -> list[tuple]:
    """Give what has weight, of one image: (box, class, weight)."""
    truth = GroundTruth(
        boxes=np.array([[each[0] for each in labels]], np.float32),
        classes=np.array([[each[1] for each in labels]], np.int32),
        weights=np.array([[each[2] for each in labels]], np.float32),
    )
    detections = Detections(
        boxes=np.array([[each[0] for each in found]], np.float32),
        scores=np.array([[each[2] for each in found]], np.float32),
        classes=np.array([[each[1] for each in found]], np.int32),
        count=np.array([len(found) if count is None else count], np.int32),
    )
    sizes = np.array([[*size, 3]], np.int32)
    boxes, classes, weights = (
        np.asarray(each)[0] for each in soft_truth(truth, detections, sizes, SHAPE)[:3]
    )
    assert np.all(boxes[weights == 0.0] == 0.0)
    return [
        (tuple(np.round(np.float64(box), 4)), int(number), round(float(weight), 4))
        for box, number, weight in zip(boxes, classes, weights, strict=True)
        if weight > 0.0
    ]


def test_a_detection_takes_the_place_of_the_label_it_is_about():
    found = joined([(LEFT, 1, 1.0), (RIGHT, 0, 1.0)], [(NEAR_LEFT, 1, 0.8)])
    assert found == [(RIGHT, 0, 1.0), (NEAR_LEFT, 1, 0.8)]


def test_an_object_that_nobody_labeled_is_learned_by_its_score():
    assert joined([(LEFT, 1, 1.0)], [(RIGHT, 2, 0.6)]) == [(LEFT, 1, 1.0), (RIGHT, 2, 0.6)]


def test_a_label_counts_more_than_a_teacher_who_says_another_class():
    assert joined([(LEFT, 1, 1.0)], [(NEAR_LEFT, 2, 0.9)]) == [(LEFT, 1, 1.0)]


def test_a_teacher_who_is_not_sure_is_not_believed():
    assert joined([(LEFT, 1, 1.0)], [(NEAR_LEFT, 1, 0.4)]) == [(LEFT, 1, 1.0)]


def test_padding_on_either_side_is_nothing():
    labels, found = [(LEFT, 1, 1.0), (RIGHT, 0, 0.0)], [(RIGHT, 0, 0.9), (RIGHT, 0, 0.9)]
    assert joined(labels, found, count=0) == [(LEFT, 1, 1.0)]
    assert joined([(NOWHERE, 0, 0.0)], [(NOWHERE, 0, 0.0)]) == []


def test_detections_move_into_the_padded_input():
    ((box, _, _),) = joined([(NOWHERE, 0, 0.0)], [((0.0, 0.5, 1.0, 1.0), 0, 1.0)], size=(50, 100))
    assert box == pytest.approx((0.0, 0.5, 0.5, 1.0))


def test_of_very_many_detections_the_best_are_taken():
    many = [((0.0, number / 1000, 0.1, number / 1000 + 0.001), 0, 0.9) for number in range(100)]
    assert len(joined([(NOWHERE, 0, 0.0)], many)) == MOST_FOUND
