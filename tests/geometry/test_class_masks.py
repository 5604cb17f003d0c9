"""Masks of classes: united from objects, cut for detections."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from holdfast.geometry.class_masks import cut_masks, united_masks
from holdfast.geometry.mask_bits import pack_masks


@pytest.mark.parametrize("is_packed", [False, True])
def test_the_masks_of_a_class_are_united_at_the_maps_size(is_packed):
    random = np.random.default_rng(0)
    masks = random.integers(0, 2, (2, 3, 16, 24)).astype(np.uint8)
    classes = np.array([[0, 1, 0], [1, 1, 1]], np.int32)
    weights = np.array([[1, 1, 1], [1, 0, 1]], np.float32)
    small = tf.image.resize(masks.reshape(6, 16, 24, 1).astype(np.float32), (4, 6)).numpy()
    small = small.reshape(2, 3, 4, 6) * weights[..., None, None]
    expected = np.zeros((2, 4, 6, 2), np.float32)
    for image, number in np.ndindex(2, 3):
        united = expected[image, :, :, classes[image, number]]
        np.maximum(united, small[image, number], out=united)
    given = pack_masks(masks) if is_packed else masks
    found = united_masks(
        given, classes, weights, (4, 6), num_classes=2, width=24 if is_packed else None
    )
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_detection_gets_its_part_of_the_mask_of_its_class():
    maps = np.zeros((2, 5, 5, 2), np.float32)
    maps[1, 2:, :, 1] = 1.0
    boxes = np.array([[[0, 0, 1, 1]], [[0, 0, 1, 1]]], np.float32)
    found = cut_masks(maps, boxes, np.array([[1], [1]], np.int32), (5, 5))
    np.testing.assert_array_equal(found[0, 0], np.zeros((5, 5)))
    # Boxes on the border of an image are drawn in by a millionth.
    np.testing.assert_allclose(found[1, 0], maps[1, :, :, 1], atol=1e-5)
