from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.sources.annotated_objects import Box
from holdfast.data.sources.drawings import (
    draw_box,
    draw_ellipse,
    draw_line,
    draw_mask,
    draw_polygon,
    to_points,
    to_size,
)
from holdfast.data.sources.image_files import Size
from holdfast.data.sources.outlines import rasterise
from holdfast.errors import HoldfastError

from .reading import hull_of_ellipse, hull_of_turned_box

SIDES = st.floats(1, 50)
DEGREES = st.floats(-720, 720)


def corners(drawing):
    top, left, bottom, right = drawing.box
    return left, top, right, bottom


@given(SIDES, SIDES, DEGREES, st.booleans())
def test_a_turned_box_is_the_hull_of_its_corners(width, height, degrees, around_corner):
    box = Box(20, 10, 20 + height, 10 + width)
    drawing = draw_box("a", box, degrees=degrees, around_corner=around_corner)
    pivot = (10, 20) if around_corner else (10 + width / 2, 20 + height / 2)
    expected = hull_of_turned_box((10, 20, 10 + width, 20 + height), degrees, pivot)
    assert corners(drawing) == pytest.approx(expected, abs=1e-6)
    assert drawing.area == pytest.approx(width * height)


@pytest.mark.parametrize("degrees", [0, 30, 90, 200, -45])
def test_an_ellipse_is_the_hull_of_its_line(degrees):
    drawing = draw_ellipse("a", (30, 20), (12, 5), degrees=degrees)
    expected = hull_of_ellipse((30, 20), (12, 5), degrees)
    assert corners(drawing) == pytest.approx(expected, abs=1e-4)
    mask = rasterise(drawing.outline, Size(60, 40))
    assert int(mask.sum()) == pytest.approx(math.pi * 60, rel=0.05)


def test_scaling_moves_box_outline_and_area():
    points = np.array([[1.0, 1.0], [5.0, 1.0], [5.0, 9.0]])
    drawing = draw_polygon("a", points, [points / 2]).scaled(2, 3)
    assert drawing.box == Box(3, 2, 27, 10)
    assert drawing.area == (16 - 4) * 6
    np.testing.assert_allclose(drawing.outline.parts[0], points * (2, 3))
    np.testing.assert_allclose(drawing.outline.holes[0], points / 2 * (2, 3))
    assert draw_line("a", points).scaled(2, 2).outline is None


def test_a_mask_is_as_large_as_its_ones():
    drawing = draw_mask("a", np.array([[0, 0, 0], [0, 1, 0]], np.uint8), 10, 20)
    assert drawing.box == Box(21, 11, 22, 12)
    assert drawing.area == 1
    empty = draw_mask("a", np.zeros((2, 3), np.uint8), 10, 20)
    assert empty.box == Box(20, 10, 20, 10)
    assert empty.outline is None


def test_what_is_not_a_number_leaves_no_outline_to_draw():
    drawing = draw_polygon("a", np.array([[1.0, 1.0], [np.nan, 1.0], [5.0, 9.0]]))
    assert math.isnan(drawing.box.x_min)
    assert drawing.outline is None
    assert np.isnan(draw_line("a", np.zeros((0, 2))).box).all()


def test_two_points_of_a_polygon_enclose_nothing():
    drawing = draw_polygon("a", np.array([[1.0, 1.0], [4.0, 5.0]]))
    assert (drawing.outline, drawing.area) == (None, 0)


def test_sizes_are_read_from_whatever_files_write():
    assert to_size("640", 480.0) == Size(640, 480)
    assert to_size(None, "many") == to_size(math.inf, math.nan) == Size(0, 0)


@pytest.mark.parametrize("pairs", [None, 3, [1, 2], [[1, 2, 3]], ["ab"]])
def test_points_that_are_not_pairs_are_refused(pairs):
    with pytest.raises(HoldfastError, match="not pairs of numbers"):
        to_points(pairs)
