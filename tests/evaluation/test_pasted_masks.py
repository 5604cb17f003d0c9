"""Pasted masks against TensorFlow's crop_and_resize, run lengths against pycocotools."""

from __future__ import annotations

import io

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image
from pycocotools import mask as coco_masks

from holdfast.evaluation.pasted_masks import (
    PastedPart,
    decode_stored,
    dense_mask,
    encode_part,
    paste_mask,
)

HEIGHT, WIDTH = 37, 53
BOXES = [
    (0.1, 0.2, 0.7, 0.9),
    (0.0, 0.0, 1.0, 1.0),
    (-0.3, 0.5, 0.4, 1.2),
    (0.5, 0.5, 0.5, 0.8),
    (0.301, 0.302, 0.303, 0.304),
    (1.1, 1.1, 1.5, 1.5),
]


def odapi(crop, box, height, width):
    """Paste as the OD API does: the image is a crop of the mask, seen from the box."""
    top, left, bottom, right = np.array(box, np.float32)
    high, wide = max(bottom - top, np.float32(1e-4)), max(right - left, np.float32(1e-4))
    seen = np.array([[-top / high, -left / wide, (1 - top) / high, (1 - left) / wide]], np.float32)
    pasted = tf.image.crop_and_resize(crop[None, :, :, None], seen, [0], [height, width])
    return (pasted.numpy()[0, :, :, 0] > 0.5).astype(np.uint8)


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("size", [(HEIGHT, WIDTH), (1, 9), (200, 3)])
def test_a_mask_is_pasted_as_by_the_od_api(box, size):
    crop = np.random.default_rng(3).random((15, 12), np.float32)
    part = paste_mask(crop, np.array(box, np.float32), *size)
    np.testing.assert_array_equal(dense_mask(part, *size), odapi(crop, box, *size))


def test_values_of_random_boxes_agree_but_for_the_last_bit():
    random = np.random.default_rng(0)
    different = 0
    for _ in range(50):
        crop = random.random((9, 9), np.float32)
        corner = random.uniform(-0.2, 0.8, 2)
        box = np.array([*corner, *(corner + random.uniform(0.01, 0.6, 2))], np.float32)
        part = paste_mask(crop, box, HEIGHT, WIDTH)
        pasted = dense_mask(part, HEIGHT, WIDTH)
        different += np.count_nonzero(pasted != odapi(crop, box, HEIGHT, WIDTH))
    assert different <= 2


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(
        np.uint8,
        st.tuples(st.integers(0, 5), st.integers(0, 5)),
        elements=st.integers(0, 1),
    ),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 2),
    st.integers(0, 2),
)
def test_run_lengths_are_those_of_pycocotools(pixels, top, left, below, beside):
    rows, columns = pixels.shape
    size = (max(top + rows + below, 1), max(left + columns + beside, 1))
    part = PastedPart(pixels, top, left)
    expected = coco_masks.encode(np.asfortranarray(dense_mask(part, *size)))
    assert encode_part(part, *size).coco() == expected


def test_a_stored_mask_is_any_pixel_that_is_not_black_and_none_is_empty():
    stream = io.BytesIO()
    Image.fromarray(np.array([[0, 1], [255, 0]], np.uint8)).save(stream, "PNG")
    assert decode_stored(stream.getvalue(), 2, 2).tolist() == [[0, 1], [1, 0]]
    assert decode_stored(b"", 2, 2).tolist() == [[0, 0], [0, 0]]
