from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.sources.image_files import Size
from holdfast.data.writers.coordinates import CUT, ROUNDED, to_pixels, to_whole_pixels

SIDES = st.integers(1, 5000)
SHARES = st.integers(-100, 10100).map(lambda number: number / 10000)


@given(st.lists(st.tuples(SHARES, SHARES, SHARES, SHARES), max_size=5), SIDES, SIDES)
def test_whole_boxes_lie_in_the_image_have_an_extent_and_are_near(corners, width, height):
    pairs = [(min(a, c), min(b, d), max(a, c), max(b, d)) for a, b, c, d in corners]
    boxes = np.array(pairs, np.float32).reshape(-1, 4)
    visible = (np.clip(boxes, 0, 1)[:, 2:] > np.clip(boxes, 0, 1)[:, :2]).all(axis=1)
    boxes = boxes[visible]  # others are never written
    whole = to_whole_pixels(boxes, Size(width, height)).boxes
    assert (whole >= 0).all()
    assert (whole <= [height, width, height, width]).all()
    assert (whole[:, 2:] > whole[:, :2]).all()
    inside = np.clip(boxes.astype(np.float64), 0, 1) * [height, width, height, width]
    assert (np.abs(whole - inside) <= 1).all()
    wide = np.tile(inside[:, 2:] - inside[:, :2] >= 1.01, 2)
    assert (np.abs(whole - inside)[wide] <= 0.5 + 1e-9).all()


@given(st.integers(2, 6000), st.data())
def test_boxes_of_whole_pixels_come_back_exactly_and_without_a_remark(side, data):
    low = data.draw(st.integers(0, side - 1))
    high = data.draw(st.integers(low + 1, side))
    boxes = (np.array([[low, low, high, high]]) / side).astype(np.float32)
    whole = to_whole_pixels(boxes, Size(side, side))
    np.testing.assert_array_equal(whole.boxes, [[low, low, high, high]])
    assert whole.remarks == ()


def test_what_is_moved_is_said():
    size = Size(100, 50)
    cut = np.array([[-0.01, 0, 1, 1]], np.float32)
    assert to_whole_pixels(cut, size).remarks == (CUT,)
    rounded = np.array([[0.011, 0, 1, 1]], np.float32)
    assert to_whole_pixels(rounded, size).remarks == (ROUNDED,)


def test_pixels_are_shares_times_the_size():
    boxes = np.array([[0.5, 0.25, 1, 0.75]], np.float32)
    np.testing.assert_array_equal(to_pixels(boxes, Size(40, 20)), [[10, 10, 20, 30]])
