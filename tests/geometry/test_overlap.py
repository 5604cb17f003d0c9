"""Similarities equal the OD API's, stay in their range and are safe on empty boxes."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from keras import ops

from holdfast.geometry.overlap import (
    giou,
    ioa,
    iou,
    negative_squared_distance,
    pairwise,
    thresholded_iou,
)

from .boxes_strategy import boxes, iou_oracle, solid_boxes

SIMILARITIES = {"iou": iou, "ioa": ioa, "neg_sq_dist": negative_squared_distance}


@pytest.mark.parametrize("name", SIMILARITIES)
def test_similarities_equal_the_od_api(shared, name):
    golden = np.load(shared / "goldens/_units/box_ops.npz")
    values = pairwise(SIMILARITIES[name], golden["gt"], golden["anchors"])
    np.testing.assert_allclose(values, golden[f"similarity/{name}"], atol=1e-6)


@settings(max_examples=40)
@given(boxes((3,)), boxes((4,)))
def test_iou_equals_the_oracle(first, second):
    expected = [[iou_oracle(one, other) for other in second] for one in first]
    np.testing.assert_allclose(pairwise(iou, first, second), expected, atol=1e-6)


@settings(max_examples=40)
@given(boxes((3,)), boxes((4,)))
def test_symmetric_similarities_do_not_care_which_box_comes_first(first, second):
    for similarity in (iou, giou, negative_squared_distance):
        there = ops.convert_to_numpy(pairwise(similarity, first, second))
        back = ops.convert_to_numpy(pairwise(similarity, second, first))
        np.testing.assert_allclose(there, back.T, atol=1e-6)


@settings(max_examples=40)
@given(boxes((5,)), boxes((5,)))
def test_similarities_stay_in_their_range(first, second):
    tolerance = 1e-5
    for similarity, low, high in ((iou, 0, 1), (ioa, 0, 1), (giou, -1, 1)):
        values = ops.convert_to_numpy(similarity(first, second))
        assert (values >= low - tolerance).all()
        assert (values <= high + tolerance).all()
    assert (ops.convert_to_numpy(negative_squared_distance(first, second)) <= 0).all()


@settings(max_examples=40)
@given(solid_boxes((5,)), boxes((5,)))
def test_giou_is_iou_less_what_the_hull_wastes(first, second):
    overlap = ops.convert_to_numpy(iou(first, second))
    generalized = ops.convert_to_numpy(giou(first, second))
    assert (generalized <= overlap + 1e-6).all()
    np.testing.assert_allclose(giou(first, first), 1.0, atol=1e-6)


def test_giou_falls_with_the_distance_of_boxes_that_do_not_meet():
    box = ops.array([0.0, 0.0, 1.0, 1.0])
    near, far = (float(giou(box, box + shift)) for shift in (2.0, 3.0))
    assert far < near < 0.0
    assert near == pytest.approx((2.0 - 9.0) / 9.0)


def test_ioa_divides_by_the_area_of_the_second_box():
    small, large = ops.array([0.0, 0.0, 1.0, 1.0]), ops.array([0.0, 0.0, 2.0, 2.0])
    assert float(ioa(small, large)) == 0.25
    assert float(ioa(large, small)) == 1.0


def test_thresholded_iou_is_one_only_above_the_threshold():
    first = ops.array([[0.0, 0.0, 1.0, 2.0], [0.0, 0.0, 1.0, 1.5]])
    values = thresholded_iou(first, ops.array([0.0, 0.0, 1.0, 1.0]), iou_threshold=0.5)
    np.testing.assert_array_equal(values, [0.0, 1.0])


@pytest.mark.parametrize("similarity", [iou, ioa, giou])
def test_gradients_are_finite_on_boxes_without_area(similarity):
    first = tf.constant([[0.0, 0.0, 0.0, 0.0], [0.1, 0.1, 0.1, 0.5], [0.0, 0.0, 1.0, 1.0]])
    second = tf.constant([[0.0, 0.0, 0.0, 0.0], [0.1, 0.1, 0.1, 0.5], [2.0, 2.0, 3.0, 3.0]])
    with tf.GradientTape() as tape:
        tape.watch([first, second])
        value = tf.reduce_sum(similarity(first, second))
    assert np.isfinite(value)
    for gradient in tape.gradient(value, [first, second]):
        assert np.isfinite(gradient).all()
