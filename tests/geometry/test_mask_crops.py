"""Masks cut to boxes are what TensorFlow cuts out of whole masks."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from holdfast.geometry.mask_bits import pack_masks
from holdfast.geometry.mask_crops import crop_masks


@pytest.mark.parametrize("size", [(33, 33), (7, 5), (1, 1)])
@pytest.mark.parametrize("are_bits", [False, True])
def test_crops_are_those_of_whole_masks(size, are_bits):
    random = np.random.default_rng(0)
    masks = random.integers(0, 2, (2, 3, 24, 21)).astype(np.uint8)
    index = random.integers(0, 3, (2, 9)).astype(np.int32)
    boxes = random.uniform(-0.2, 1.2, (2, 9, 4)).astype(np.float32)
    boxes[0, 0], boxes[0, 1] = [0, 0, 1, 1], [0, 0, 0, 0]
    stored = pack_masks(masks) if are_bits else tf.constant(masks)
    found = crop_masks(
        stored, tf.constant(index), tf.constant(boxes), size=size, width=21, are_bits=are_bits
    )
    whole = np.take_along_axis(masks, index[..., None, None], axis=1).reshape(18, 24, 21, 1)
    wanted = tf.image.crop_and_resize(whole, boxes.reshape(18, 4), np.arange(18), size)
    np.testing.assert_allclose(found, np.reshape(wanted, (2, 9, *size)), atol=1e-5)


def test_masks_of_unknown_size_are_cut_too():
    bits = pack_masks(np.ones((1, 1, 16, 16), np.uint8))

    @tf.function(
        input_signature=[
            tf.TensorSpec((None, None, None, None), tf.uint8),
            tf.TensorSpec((), "int32"),
        ]
    )
    def run(bits, width):
        boxes = tf.constant([[[0.25, 0.25, 0.75, 0.75]]])
        index = tf.zeros((1, 1), tf.int32)
        return crop_masks(bits, index, boxes, size=(3, 3), width=width, are_bits=True)

    np.testing.assert_array_equal(run(bits, 16), np.ones((1, 1, 3, 3)))
