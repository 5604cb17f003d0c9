"""Which boxes can be learned from: compared with a judgment box by box, in plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from holdfast.data.sample import Sample
from holdfast.data.survey.box_validity import OUTSIDE_TOLERANCE, Reason, box_reasons, judge

NUM_CLASSES = 3
# Sides on, beside and far from every border that a judgment depends on.
SIDES = [0.0, 0.3, 0.7, 1.0, -0.005, 1.005, -0.5, 1.5, 2.5, 300.0, math.nan, math.inf, -math.inf]


def expected(box: np.ndarray, number: int) -> Reason:
    """Judge one box slowly."""
    y_min, x_min, y_max, x_max = (float(side) for side in box)
    if not all(math.isfinite(side) for side in box):
        return Reason.NOT_A_NUMBER
    if max(abs(side) for side in box) >= 2:
        return Reason.PIXELS
    if y_max < y_min or x_max < x_min:
        return Reason.SWAPPED
    outside = any(side < -OUTSIDE_TOLERANCE or side > 1 + OUTSIDE_TOLERANCE for side in box)
    if not outside:
        y_min, x_min, y_max, x_max = (min(max(side, 0), 1) for side in (y_min, x_min, y_max, x_max))
    if y_max <= y_min or x_max <= x_min:
        return Reason.DEGENERATE
    if outside:
        return Reason.OUTSIDE
    if number >= NUM_CLASSES:
        return Reason.UNKNOWN_CLASS
    return Reason.NO_CLASS if number < 0 else Reason.KEPT


def sample(boxes: np.ndarray, classes: np.ndarray) -> Sample:
    count = len(boxes)
    floats, flags = np.arange(count, dtype=np.float32), np.zeros(count, bool)
    return Sample("", "", boxes, classes, floats, floats, flags, flags, flags, flags, floats)


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_every_box_gets_the_first_reason_that_applies(data):
    count = data.draw(st.integers(0, 6))
    sides = st.sampled_from([np.float32(side) for side in SIDES])
    boxes = data.draw(arrays.arrays(np.float32, (count, 4), elements=sides))
    classes = data.draw(arrays.arrays(np.int32, count, elements=st.integers(-1, 4)))
    reasons = box_reasons(boxes, classes, NUM_CLASSES).numpy().tolist()
    assert reasons == [expected(*pair) for pair in zip(boxes, classes, strict=True)]


def test_the_fields_of_a_box_stay_together():
    boxes = np.float32([[0, 0, 1, 1], [0.5, 0.5, 0.5, 0.5], [0.2, 0.2, 0.6, 0.6]])
    judged = judge(sample(boxes, np.int32([0, 1, 2])), NUM_CLASSES)
    kept = judged.sample
    assert kept.classes.numpy().tolist() == [0, 2]
    assert kept.weights.numpy().tolist() == kept.areas.numpy().tolist() == [0.0, 2.0]
    np.testing.assert_array_equal(kept.boxes, boxes[[0, 2]])
    assert int(judged.clipped) == 0


def test_boxes_that_are_kept_lie_inside_and_clipped_ones_are_counted():
    boxes = np.float32([[-0.01, 0.1, 0.5, 1.01], [0.0, 0.1, 0.5, 1.0]])
    judged = judge(sample(boxes, np.int32([0, 0])))
    np.testing.assert_array_equal(judged.sample.boxes, np.float32([[0.0, 0.1, 0.5, 1.0]] * 2))
    assert int(judged.clipped) == 1


def test_without_label_map_any_class_above_0_counts():
    boxes = np.float32([[0, 0, 1, 1]] * 3)
    reasons = box_reasons(boxes, np.int32([0, 10**9, -1])).numpy().tolist()
    assert reasons == [Reason.KEPT, Reason.KEPT, Reason.NO_CLASS]


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_is_said_in_words(reason):
    assert reason.text
    assert len({each.text for each in Reason}) == len(Reason)
