from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from holdfast.data.sources.image_files import Size
from holdfast.data.sources.outlines import Bitmap, Polygons, RunLengths, polygon_area, rasterise
from holdfast.errors import HoldfastError

SIZE = Size(width=11, height=7)


def decode_slowly(counts, size):
    """COCO's definition: runs of 0 and 1 in turn, column after column."""
    pixels = np.concatenate([np.full(run, index % 2) for index, run in enumerate(counts)])
    return pixels.reshape(size.width, size.height).T


@st.composite
def run_lengths(draw):
    cuts = draw(st.lists(st.integers(0, SIZE.width * SIZE.height), max_size=12))
    edges = [0, *sorted(cuts), SIZE.width * SIZE.height]
    return [right - left for left, right in itertools.pairwise(edges)]


@given(run_lengths())
def test_run_lengths_decode_as_coco_defines_them(counts):
    mask = rasterise(RunLengths(counts, SIZE), SIZE)
    np.testing.assert_array_equal(mask, decode_slowly(counts, SIZE))
    assert mask.dtype == np.uint8


@pytest.fixture(scope="module")
def coco():
    return pytest.importorskip("pycocotools.mask")


@given(counts=run_lengths())
def test_compressed_run_lengths_decode_as_pycocotools_encodes_them(coco, counts):
    mask = decode_slowly(counts, SIZE)
    encoded = coco.encode(np.asfortranarray(mask.astype(np.uint8)))
    for text in (encoded["counts"], encoded["counts"].decode()):
        np.testing.assert_array_equal(rasterise(RunLengths(text, SIZE), SIZE), mask)


POINTS = st.tuples(st.floats(-3, 14), st.floats(-3, 10))


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
@settings(max_examples=200)
@given(parts=st.lists(st.lists(POINTS, min_size=3, max_size=8), min_size=1, max_size=3))
def test_polygons_are_drawn_as_pycocotools_draws_them(coco, parts):
    polygons = Polygons(tuple(np.array(part) for part in parts))
    flat = [[value for point in part for value in point] for part in parts]
    expected = coco.decode(coco.merge(coco.frPyObjects(flat, SIZE.height, SIZE.width)))
    np.testing.assert_array_equal(rasterise(polygons, SIZE), expected)


def test_a_polygon_covers_what_pillow_draws():
    corners = np.array([[10.0, 8.0], [90.0, 20.0], [70.0, 65.0], [15.0, 50.0]])
    mask = rasterise(Polygons((corners,)), Size(100, 80))
    canvas = Image.new("1", (100, 80))
    ImageDraw.Draw(canvas).polygon([tuple(corner) for corner in corners], fill=1)
    assert (mask != np.asarray(canvas)).mean() < 0.02
    assert mask.sum() == pytest.approx(polygon_area(corners), rel=0.02)


def test_parts_without_extent_draw_nothing():
    line = np.array([[1.0, 1.0], [5.0, 5.0]])
    assert rasterise(Polygons((line,)), SIZE).sum() == 0


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e12])
def test_points_at_no_place_are_refused(value):
    wild = np.array([[value, 1.0], [5.0, 5.0], [1.0, 5.0]])
    with pytest.raises(HoldfastError, match="far outside"):
        rasterise(Polygons((wild,)), SIZE)


@pytest.mark.parametrize("counts", [[5, 10], [-5, 82], "zz", "PPPP", b"\xff\x00", [100], ["a"]])
def test_run_lengths_that_do_not_fill_the_image_are_refused(counts):
    with pytest.raises(HoldfastError, match="cannot be read"):
        rasterise(RunLengths(counts, SIZE), SIZE)


def test_run_lengths_of_another_size_are_refused():
    with pytest.raises(HoldfastError, match="3x3 pixels, its image 11x7"):
        rasterise(RunLengths([9], Size(3, 3)), SIZE)


def test_a_bitmap_is_put_in_its_place():
    mask = rasterise(Bitmap(np.array([[1, 0], [1, 1]], np.uint8), left=3, top=2), SIZE)
    assert np.argwhere(mask).tolist() == [[2, 3], [3, 3], [3, 4]]
    with pytest.raises(HoldfastError, match="out of its image"):
        rasterise(Bitmap(np.ones((2, 2), np.uint8), left=10, top=0), SIZE)


def test_holes_are_cut_out_of_polygons():
    square = np.array([[2.0, 2.0], [12.0, 2.0], [12.0, 12.0], [2.0, 12.0]])
    hole = (square - 7) / 2 + 7
    mask = rasterise(Polygons((square,), (hole,)), Size(20, 15))
    expected = np.zeros((15, 20), np.uint8)
    expected[2:12, 2:12] = 1
    expected -= rasterise(Polygons((hole,)), Size(20, 15))
    np.testing.assert_array_equal(mask, expected)
    assert int(mask.sum()) == pytest.approx(100 - 25, abs=6)
