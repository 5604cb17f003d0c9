from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from holdfast.data.sources.image_files import Size
from holdfast.data.sources.outlines import Polygons, rasterise
from holdfast.data.writers.contours import join, trace

MASKS = arrays(
    np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.integers(0, 1)
)


def filled(loops, shape):
    """Fill closed lines by even-odd: inside is where a ray to the right crosses oddly often."""
    inside = np.zeros(shape, int)
    for loop in loops:
        for (x1, y1), (x2, y2) in zip(loop, np.roll(loop, -1, axis=0), strict=True):
            if x1 == x2:  # the others are level
                for y in range(min(y1, y2), max(y1, y2)):
                    inside[y, : max(x1, 0)] += 1
    return (inside % 2).astype(np.uint8)


@given(MASKS)
def test_contours_filled_again_are_the_mask(mask):
    contours = trace(mask)
    np.testing.assert_array_equal(filled([*contours.outer, *contours.holes], mask.shape), mask)


@given(MASKS)
def test_outer_lines_have_no_straight_corners_and_are_as_many_as_parts(mask):
    contours = trace(mask)
    for loop in (*contours.outer, *contours.holes):
        steps = np.roll(loop, -1, axis=0) - loop
        assert ((steps == 0).sum(axis=1) == 1).all()
        signs = np.sign(steps)
        assert (signs != np.roll(signs, 1, axis=0)).any(axis=1).all()
    assert len(contours.outer) == parts(mask)


def parts(mask):
    """Count the pixels that touch by a side, by flooding."""
    left, count = {tuple(each) for each in np.argwhere(mask)}, 0
    while left:
        count, front = count + 1, [left.pop()]
        while front:
            y, x = front.pop()
            near = {(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)} & left
            left -= near
            front += near
    return count


@settings(max_examples=50)
@given(MASKS)
def test_the_coco_tools_fill_lines_without_holes_to_the_same_mask(mask):
    contours = trace(mask)
    if contours.holes or not contours.outer:
        return
    polygons = Polygons(tuple(loop.astype(float) for loop in contours.outer))
    np.testing.assert_array_equal(rasterise(polygons, Size(*mask.shape[::-1])), mask)


def test_one_line_holds_parts_and_holes():
    mask = np.zeros((9, 20), np.uint8)
    mask[1:8, 1:8] = 1
    mask[3:5, 3:6] = 0
    mask[2:6, 12:18] = 1
    contours = trace(mask)
    assert (len(contours.outer), len(contours.holes)) == (2, 1)
    whole = join([*contours.outer, *contours.holes])
    polygon = Polygons((whole.astype(float),))
    np.testing.assert_array_equal(rasterise(polygon, Size(20, 9)), mask)


@pytest.mark.parametrize("shape", [(3, 4), (1, 1)])
def test_an_empty_mask_has_no_outline(shape):
    assert trace(np.zeros(shape, np.uint8)) == ((), ())
