"""Tiles cover an image, and what lies in them is what lies in the image."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import HoldfastError
from holdfast.geometry.image_tiles import Tile, Tiling, boxes_in_tile, tiles_of

SIDES = st.integers(1, 700)
TILINGS = st.builds(Tiling, size=st.integers(32, 300), overlap=st.floats(0.0, 0.8, allow_nan=False))


@given(SIDES, SIDES, TILINGS)
def test_tiles_lie_in_the_image_and_cover_all_of_it(height, width, tiling):
    seen = np.zeros((height, width), bool)
    for tile in tiles_of(height, width, tiling):
        assert tile.height == min(height, tiling.size)
        assert tile.width == min(width, tiling.size)
        part = seen[tile.top : tile.top + tile.height, tile.left : tile.left + tile.width]
        assert part.shape == (tile.height, tile.width)
        part[:] = True
    assert seen.all()


@given(SIDES, SIDES, TILINGS, st.data())
def test_a_box_that_fits_into_the_overlap_is_whole_in_some_tile(height, width, tiling, data):
    largest = max(1, tiling.overlap_pixels)
    box_height = data.draw(st.integers(1, min(height, largest)))
    box_width = data.draw(st.integers(1, min(width, largest)))
    top = data.draw(st.integers(0, height - box_height))
    left = data.draw(st.integers(0, width - box_width))
    if tiling.overlap_pixels == 0:
        return
    box = np.array([[top, left, top + box_height, left + box_width]], np.float64)
    box /= [height, width, height, width]
    shares = [
        share
        for tile in tiles_of(height, width, tiling)
        for share in boxes_in_tile(box, height, width, tile).shares
    ]
    assert max(shares) == pytest.approx(1.0, abs=1e-4)


@given(SIDES, SIDES, TILINGS, st.tuples(*[st.floats(0, 1)] * 4))
def test_a_box_in_a_tile_lies_where_it_lies_in_the_image(height, width, tiling, sides):
    y_min, y_max = sorted(sides[:2])
    x_min, x_max = sorted(sides[2:])
    box = np.array([[y_min, x_min, y_max, x_max]], np.float32)
    size = np.array([height, width] * 2)
    for tile in tiles_of(height, width, tiling):
        found = boxes_in_tile(box, height, width, tile)
        corner = np.array([tile.top, tile.left] * 2)
        sides_of_tile = np.array([tile.height, tile.width] * 2)
        back = found.boxes * sides_of_tile + corner
        expected = np.clip(box * size, corner, corner + sides_of_tile)
        np.testing.assert_allclose(back, expected[found.rows], atol=1e-2)


def test_the_share_is_that_of_the_area_inside_of_the_image():
    boxes = np.array([[0.0, 0.4, 1.0, 0.6], [0.5, 0.9, 1.5, 1.1]], np.float32)
    found = boxes_in_tile(boxes, 100, 100, Tile(0, 0, 100, 50))
    assert found.rows.tolist() == [0]
    np.testing.assert_allclose(found.shares, [0.5], atol=1e-6)
    found = boxes_in_tile(boxes, 100, 100, Tile(0, 50, 100, 50))
    np.testing.assert_allclose(found.shares, [0.5, 1.0], atol=1e-6)


@pytest.mark.parametrize("setting", [{"size": 8}, {"size": 64, "overlap": 1.0}])
def test_a_tiling_that_makes_no_sense_is_refused(setting):
    with pytest.raises(HoldfastError, match="Tiles"):
        Tiling(**setting)
