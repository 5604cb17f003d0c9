"""What tiles show of an image, put together, is what the image shows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holdfast.geometry.image_tiles import Tiling, boxes_in_tile, tiles_of
from holdfast.geometry.merged_tiles import TileDetections, merge_tiles


def seen_in_tiles(boxes, classes, height, width, tiles, smallest=0.0, scores=None):
    """Give what a perfect detector finds in each tile: what of each object can be seen there."""
    rows, found, places = [], [], []
    for index, tile in enumerate(tiles):
        inside = boxes_in_tile(boxes / ([height, width] * 2), height, width, tile)
        inside = inside.chosen(inside.shares > smallest)
        rows += inside.rows.tolist()
        found += list(inside.boxes * ([tile.height, tile.width] * 2) + [tile.top, tile.left] * 2)
        places += [index] * len(inside.rows)
    scores = np.ones(len(boxes)) if scores is None else scores
    return TileDetections(
        np.array(found, np.float32).reshape(-1, 4),
        np.array([scores[row] for row in rows], np.float32),
        np.array([classes[row] for row in rows], np.int32),
        np.array(places, np.intp),
    )


@st.composite
def scenes(draw):
    """Draw an image whose objects do not overlap: one in each cell of a grid, at most."""
    height, width = draw(st.integers(60, 500)), draw(st.integers(60, 500))
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    boxes, classes = [], []
    for row in range(rows):
        for column in range(columns):
            if draw(st.booleans()):
                y, x = (draw(st.tuples(st.floats(0.02, 0.45), st.floats(0.55, 0.98))) for _ in "yx")
                cell = np.array([height / rows, width / columns] * 2)
                corner = np.array([row, column] * 2) * cell
                boxes.append(np.array([y[0], x[0], y[1], x[1]]) * cell + corner)
                classes.append(draw(st.integers(0, 1)))
    size, overlap = draw(st.integers(32, 200)), draw(st.floats(0.1, 0.5))
    return (
        height,
        width,
        np.array(boxes).reshape(-1, 4),
        classes,
        Tiling(size=size, overlap=overlap),
    )


@given(scenes())
def test_perfect_detections_of_tiles_are_the_objects_of_the_image(scene):
    height, width, boxes, classes, tiling = scene
    tiles = tiles_of(height, width, tiling)
    merged = merge_tiles(seen_in_tiles(boxes, classes, height, width, tiles), tiles, height, width)
    assert sorted(merged.classes.tolist()) == sorted(classes)
    order = np.lexsort(merged.boxes.T) if len(boxes) else []
    expected = boxes[np.lexsort(boxes.T.astype(np.float32))] if len(boxes) else boxes
    np.testing.assert_allclose(merged.boxes[order], expected, atol=0.05)


def test_the_box_of_the_tile_that_shows_all_is_taken_with_the_best_score():
    tiles = tiles_of(100, 150, Tiling(size=100, overlap=0.5))
    found = TileDetections(
        boxes=np.array([[10, 60, 40, 99], [11, 61, 41, 121]], np.float32),
        scores=np.array([0.9, 0.6], np.float32),
        classes=np.zeros(2, np.int32),
        tiles=np.array([0, 1]),
    )
    merged = merge_tiles(found, tiles, 100, 150)
    np.testing.assert_allclose(merged.boxes, [[11, 61, 41, 121]])
    np.testing.assert_allclose(merged.scores, [0.9])
    assert [each.tolist() for each in merged.members] == [[1]]


def test_neighbors_that_overlap_in_one_tile_stay_two():
    tiles = tiles_of(100, 100, Tiling(size=100))
    boxes = np.array([[10, 10, 50, 50], [12, 12, 52, 52]], np.float32)
    found = TileDetections(boxes, np.ones(2, np.float32), np.zeros(2, np.int32), np.zeros(2, int))
    assert len(merge_tiles(found, tiles, 100, 100).boxes) == 2


def test_objects_of_two_classes_at_one_place_stay_two():
    tiles = tiles_of(100, 150, Tiling(size=100, overlap=0.5))
    boxes = np.array([[10, 60, 40, 90], [10, 60, 40, 90]], np.float32)
    found = TileDetections(boxes, np.ones(2, np.float32), np.array([0, 1]), np.array([0, 1]))
    assert len(merge_tiles(found, tiles, 100, 150).boxes) == 2


def test_no_detections_are_no_objects():
    tiles = tiles_of(100, 150, Tiling(size=100))
    empty = np.zeros(0, np.float32)
    found = TileDetections(empty.reshape(0, 4), empty, empty.astype(int), empty.astype(int))
    merged = merge_tiles(found, tiles, 100, 150)
    assert merged.boxes.shape == (0, 4)
    assert merged.members == ()
