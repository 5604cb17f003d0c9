"""Sets of objects are compared whatever their order, and what is missing is noticed."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.export.comparison import Tolerance, compare


def found(boxes, scores, classes=None, places=4):
    count = len(boxes)
    padded = np.zeros((places, 4), np.float32)
    padded[:count] = np.reshape(boxes, (count, 4))
    return {
        "detection_boxes": padded,
        "detection_scores": np.array([*scores, *[0.0] * (places - count)], np.float32),
        "detection_classes": np.array([*(classes or [1] * count), *[1] * (places - count)]),
        "num_detections": np.float32(count),
    }


FIRST, SECOND = (0.1, 0.1, 0.5, 0.5), (0.5, 0.5, 0.9, 0.9)
TWO = found([FIRST, SECOND], [0.8, 0.7999])


def is_same(original, exported, *, fixed=False, **tolerance):
    wanted = Tolerance(**tolerance)
    return compare([original], [exported], wanted, has_fixed_places=fixed).is_within(wanted)


def test_equal_sets_are_equal_in_any_order():
    assert is_same(TWO, TWO)
    assert is_same(TWO, found([SECOND, FIRST], [0.8, 0.7999]))


@pytest.mark.parametrize(
    "other",
    [
        found([FIRST], [0.8]),
        found([], []),
        found([FIRST, SECOND, (0, 0, 1, 1)], [0.8, 0.7999, 0.5]),
        found([FIRST, SECOND], [0.8, 0.79]),
        found([FIRST, SECOND], [0.8, 0.7999], [1, 2]),
        found([FIRST, (0.5, 0.5, 0.9, 0.91)], [0.8, 0.7999]),
    ],
    ids=["missing", "empty", "more", "score", "class", "box"],
)
def test_a_difference_is_noticed_both_ways(other):
    assert not is_same(TWO, other)
    assert not is_same(other, TWO)


def test_the_last_place_may_go_to_another_of_equal_score():
    one = found([FIRST, SECOND], [0.8, 0.5], places=2)
    other = found([FIRST, (0, 0, 0.2, 0.2)], [0.8, 0.5001], places=2)
    assert is_same(one, other)
    assert not is_same(found([FIRST, SECOND], [0.8, 0.6], places=2), other)


def test_an_object_at_the_threshold_may_be_missing():
    one = found([FIRST, SECOND], [0.8, 0.3002])
    assert is_same(one, found([FIRST], [0.8]), least_score=0.3)
    assert not is_same(one, found([FIRST], [0.8]), least_score=0.2)


def test_of_boxes_that_overlap_suppression_may_keep_another():
    near = (0.1, 0.1, 0.5, 0.36)  # overlaps the first by 0.65
    both = found([FIRST, near], [0.8, 0.7])
    assert not is_same(both, found([FIRST], [0.8]))
    assert is_same(both, found([FIRST], [0.8]), covered_iou=0.3)
    assert is_same(found([FIRST], [0.8]), both, covered_iou=0.3)
    assert not is_same(both, found([FIRST], [0.8], [2]), covered_iou=0.3)
    assert not is_same(TWO, found([FIRST], [0.8]), covered_iou=0.3)


def test_scores_of_regions_are_compared_where_nothing_is_found():
    raw = np.random.default_rng(0).random((5, 3), np.float32)
    one, other = (found([], []) | {"raw_detection_scores": each} for each in (raw, raw + 0.01))
    assert is_same(one, one)
    assert is_same(one, found([], []) | {"raw_detection_scores": raw[::-1]})
    assert not is_same(one, other)
    # Which regions a second stage looks at may hang on equal scores: objects are what counts.
    assert is_same(TWO | one_raw(raw), TWO | one_raw(raw + 0.01))


def test_scores_of_anchors_are_always_compared_row_by_row():
    raw = np.random.default_rng(0).random((5, 3), np.float32)
    assert is_same(TWO | one_raw(raw), TWO | one_raw(raw), fixed=True)
    assert not is_same(TWO | one_raw(raw), TWO | one_raw(raw + 0.01), fixed=True)
    assert not is_same(TWO | one_raw(raw), TWO | one_raw(raw[::-1]), fixed=True)


def one_raw(scores):
    return {"raw_detection_scores": scores}


def test_boxes_of_sure_objects_at_anchors_are_held_to_a_limit_of_their_own():
    near = found([(0.1, 0.1, 0.5, 0.45), SECOND], [0.8, 0.7999])  # overlaps the first by 0.875
    assert is_same(TWO, near, fixed=True, iou=0.5, sure_iou=0.8)
    assert not is_same(TWO, near, fixed=True, iou=0.5, sure_iou=0.9)
    assert is_same(TWO, near, iou=0.5, sure_iou=0.9)  # of a CenterNet
    weak = [found([box, SECOND], [0.4, 0.3]) for box in (FIRST, (0.1, 0.1, 0.5, 0.45))]
    assert is_same(*weak, fixed=True, iou=0.5, sure_iou=0.9)


def test_keypoints_are_compared_unless_they_are_guesses():
    points = np.zeros((4, 2, 2), np.float32)
    moved = points.copy()
    moved[0, 1] = 0.3
    scores = np.array([[0.9, 0.1]] * 4, np.float32)
    one, other = (
        TWO | {"detection_keypoints": each, "detection_keypoint_scores": scores}
        for each in (points, moved)
    )
    assert is_same(one, one)
    assert not is_same(one, other)
    assert is_same(one, other, least_keypoint_score=0.2)
    assert not is_same(one, other, least_keypoint_score=0.05)


def test_boxes_without_area_are_matched_by_their_place():
    flat = (0.6, 0.2, 0.6, 0.4)
    assert is_same(found([FIRST, flat], [0.8, 0.7]), found([FIRST, flat], [0.8, 0.7]))
    moved = (0.7, 0.2, 0.7, 0.4)
    assert not is_same(found([FIRST, flat], [0.8, 0.7]), found([FIRST, moved], [0.8, 0.7]))


def test_where_suppression_keeps_another_box_its_score_is_not_compared():
    other = (0.1, 0.1, 0.5, 0.4)  # overlaps the first by 0.75
    one, kept = found([FIRST], [0.4]), found([other], [0.3])
    limits = {"score": 0.05, "iou": 0.5, "sure_iou": 0.5}
    assert not is_same(one, kept, fixed=True, **limits)
    assert is_same(one, kept, fixed=True, same_box_iou=0.9, **limits)
    assert not is_same(one, kept, fixed=False, same_box_iou=0.9, **limits)
    assert not is_same(one, found([FIRST], [0.3]), fixed=True, same_box_iou=0.9, **limits)
