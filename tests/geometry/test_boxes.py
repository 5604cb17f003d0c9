"""Boxes change form and frame and come back."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from keras import ops

from holdfast.geometry.boxes import (
    area,
    clip_to_window,
    from_center_form,
    to_center_form,
    to_frame,
    true_image_windows,
)

from .boxes_strategy import boxes, solid_boxes


@given(boxes((2, 3)))
def test_center_form_and_back_gives_the_same_boxes(corners):
    np.testing.assert_allclose(from_center_form(to_center_form(corners)), corners, atol=1e-6)


@given(boxes((3,)))
def test_area_is_the_product_of_the_sides(corners):
    sides = corners[:, 2:] - corners[:, :2]
    np.testing.assert_allclose(area(corners), sides.prod(axis=1), atol=1e-6)


@given(boxes((2, 4)), solid_boxes((2,)))
def test_clipped_boxes_lie_in_the_window_and_clipping_again_changes_nothing(corners, windows):
    clipped = ops.convert_to_numpy(clip_to_window(corners, windows))
    assert (clipped[..., :2] >= windows[:, None, :2]).all()
    assert (clipped[..., 2:] <= windows[:, None, 2:]).all()
    assert (clipped[..., 2:] >= clipped[..., :2]).all()
    np.testing.assert_array_equal(clip_to_window(clipped, windows), clipped)


def test_a_box_outside_the_window_is_left_with_no_area():
    window = ops.array([0.0, 0.0, 1.0, 1.0])
    assert float(area(clip_to_window(ops.array([[1.5, 0.2, 2.0, 0.8]]), window))[0]) == 0.0


@given(boxes((3,)), solid_boxes(()))
def test_the_window_itself_is_the_unit_square_of_its_frame(corners, window):
    frame = ops.convert_to_numpy(to_frame(np.concatenate([corners, window[None]]), window))
    np.testing.assert_allclose(frame[-1], [0, 0, 1, 1], atol=1e-5)
    size = np.tile(window[2:] - window[:2], 2)
    origin = np.tile(window[:2], 2)
    np.testing.assert_allclose(frame[:-1] * size + origin, corners, atol=1e-5)


def test_the_true_image_lies_at_the_upper_left_of_the_padded_input():
    windows = true_image_windows(ops.array([[384, 512, 3], [512, 256, 3]]), 512, 512)
    np.testing.assert_array_equal(windows, [[0, 0, 0.75, 1], [0, 0, 1, 0.5]])
