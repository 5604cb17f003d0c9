"""Detections of tiles become those of the image, with masks and keypoints."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.geometry.image_tiles import Tiling
from holdfast.geometry.spread_crops import spread_crops
from holdfast.models.inference.detections import Detections
from holdfast.models.inference.tiled_detection import detect_in_tiles

ROOM = 5


def finds_colors(tiles):
    """Detect the extent of each gray value from 100 on; its class is the tens above."""
    boxes = np.zeros((len(tiles), ROOM, 4), np.float32)
    scores, classes = np.zeros((len(tiles), ROOM), np.float32), np.zeros((len(tiles), ROOM), int)
    masks = np.zeros((len(tiles), ROOM, 8, 8), np.float32)
    points = np.zeros((len(tiles), ROOM, 1, 2), np.float32)
    count = np.zeros(len(tiles), np.int32)
    for index, tile in enumerate(tiles):
        height, width = tile.shape[:2]
        for value in np.unique(tile[..., 0][tile[..., 0] >= 100]):
            ys, xs = np.nonzero(tile[..., 0] == value)
            row = count[index]
            extent = np.array([ys.min(), xs.min(), ys.max() + 1, xs.max() + 1])
            boxes[index, row] = extent / ([height, width] * 2)
            scores[index, row] = len(ys) / 10_000
            classes[index, row] = value // 10 - 10
            masks[index, row] = 1.0
            points[index, row] = (boxes[index, row, :2] + boxes[index, row, 2:]) / 2
            count[index] += 1
    return Detections(boxes, scores, classes, count, masks, points, scores[..., None])


@pytest.fixture
def image():
    pixels = np.zeros((200, 300, 3), np.uint8)
    pixels[10:30, 20:60] = 100
    pixels[90:130, 100:260] = 120  # wider than a tile
    pixels[150:199, 280:299] = 130
    return pixels


@pytest.mark.parametrize("at_once", [1, 4])
def test_objects_are_found_where_they_are_whole_or_not(image, at_once):
    found = detect_in_tiles(image, finds_colors, Tiling(size=100, overlap=0.2), at_once=at_once)
    assert found.count.tolist() == [3]
    order = np.argsort(found.classes[0])
    assert found.classes[0][order].tolist() == [0, 2, 3]
    expected = np.array([[10, 20, 30, 60], [90, 100, 130, 260], [150, 280, 199, 299]])
    np.testing.assert_allclose(found.boxes[0][order] * [200, 300, 200, 300], expected, atol=1e-3)
    assert found.masks.shape == (1, 3, 8, 8)
    assert found.masks.min() == 1.0  # also of the one that is put together
    whole = found.keypoints[0, order[0], 0] * [200, 300]
    np.testing.assert_allclose(whole, [20, 40], atol=1e-3)


def test_an_image_smaller_than_a_tile_is_one_tile(image):
    found = detect_in_tiles(image, finds_colors, Tiling(size=400))
    alone = finds_colors(image[None])
    assert found.count.tolist() == alone.count.tolist()
    np.testing.assert_allclose(
        np.sort(found.boxes[0], axis=0), np.sort(alone.boxes[0, :3], axis=0), atol=1e-6
    )


def test_nothing_is_found_in_an_empty_image():
    found = detect_in_tiles(np.zeros((50, 90, 3), np.uint8), finds_colors, Tiling(size=40))
    assert found.count.tolist() == [0]
    assert found.boxes.shape == (1, 0, 4)


def test_parts_of_a_mask_lie_where_they_were():
    """A disk that is seen in two halves is a disk again."""
    cells = np.linspace(0, 1, 28)
    disk = ((cells[:, None] - 0.5) ** 2 + (cells[None] - 0.5) ** 2 < 0.2).astype(np.float32)
    half = np.linspace(0, 0.6, 28)
    left = ((cells[:, None] - 0.5) ** 2 + (half[None] - 0.5) ** 2 < 0.2).astype(np.float32)
    right = ((cells[:, None] - 0.5) ** 2 + (half[None] - 0.1) ** 2 < 0.2).astype(np.float32)
    boxes = np.array([[0, 0, 10, 6], [0, 4, 10, 10]], np.float32)
    spread = spread_crops(np.stack([left, right]), boxes, np.array([0, 0, 10, 10], np.float32))
    overlap = np.logical_and(spread > 0.5, disk > 0.5).sum()
    assert overlap / np.logical_or(spread > 0.5, disk > 0.5).sum() > 0.9
