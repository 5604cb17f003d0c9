"""Regions are cut out of the map that suits them, and pooled."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from holdfast.geometry.regions import (
    crop_regions,
    inside_border,
    pool_regions,
    region_levels,
)


def bilinear(image: np.ndarray, box: np.ndarray, size: int) -> np.ndarray:
    """Cut one box out of one map, cell by cell."""
    height, width, channels = image.shape
    crop = np.zeros((size, size, channels))
    for row in range(size):
        for column in range(size):
            y = (box[0] + row * (box[2] - box[0]) / (size - 1)) * (height - 1)
            x = (box[1] + column * (box[3] - box[1]) / (size - 1)) * (width - 1)
            if not (0 <= y <= height - 1 and 0 <= x <= width - 1):
                continue
            top, left = int(np.floor(y)), int(np.floor(x))
            low, right = int(np.ceil(y)), int(np.ceil(x))
            above = image[top, left] * (1 - x + left) + image[top, right] * (x - left)
            below = image[low, left] * (1 - x + left) + image[low, right] * (x - left)
            crop[row, column] = above * (1 - y + top) + below * (y - top)
    return crop


def test_one_map_is_interpolated_and_beyond_it_is_zero():
    random = np.random.default_rng(1)
    image = random.normal(size=(2, 6, 9, 3)).astype(np.float32)
    boxes = random.uniform(-0.3, 1.3, (2, 4, 4)).astype(np.float32)
    crops = crop_regions([image], boxes, size=5, height=96, width=144)
    wanted = [bilinear(image[number], box, 5) for number in range(2) for box in boxes[number]]
    np.testing.assert_allclose(crops, wanted, atol=1e-4)


def test_of_several_maps_each_region_comes_from_its_own_in_its_old_place():
    maps = [np.full((2, 64 >> level, 64 >> level, 1), level, np.float32) for level in range(4)]
    side = np.array([[0.1, 0.9, 0.3], [0.6, 0.05, 0.45]], np.float32)
    boxes = np.stack([0 * side, 0 * side, side, side], axis=-1)
    crops = crop_regions([*map(tf.constant, maps)], boxes, size=2, height=512, width=512)
    wanted = np.clip(np.floor(np.log2(side * 512 / 224)) + 2, 0, 3)
    np.testing.assert_array_equal(region_levels(boxes, 4, 512, 512), wanted)
    np.testing.assert_array_equal(crops[:, 0, 0, 0], wanted.reshape(-1))


def test_half_precision_is_kept():
    for dtype in ("float16", "bfloat16"):
        features = tf.ones((1, 4, 4, 2), dtype)
        crops = crop_regions([features], [[[0.0, 0.0, 1.0, 1.0]]], size=2, height=8, width=8)
        assert crops.dtype == dtype


def test_pooling_takes_the_largest_and_kernel_one_nothing():
    regions = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
    pooled = pool_regions(regions, kernel_size=2, stride=2)
    np.testing.assert_array_equal(pooled[0, :, :, 0], [[5, 7], [13, 15]])
    np.testing.assert_array_equal(pool_regions(regions, kernel_size=1, stride=1), regions)


def test_a_box_on_the_border_never_loses_its_last_row():
    image = np.ones((1, 64, 64, 1), np.float32)
    boxes = np.ones((1, 500, 4), np.float32)
    boxes[0, :, :2] = np.random.default_rng(0).uniform(0, 0.9, (500, 2))
    as_they_are, drawn_in = (
        crop_regions([image], each, size=7, height=64, width=64).numpy()
        for each in (boxes, inside_border(boxes))
    )
    assert (as_they_are == 0.0).any()  # some lie beyond the map by the last bit
    np.testing.assert_allclose(drawn_in, 1.0, atol=1e-6)
