"""Box coders write the OD API's codes and read their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from keras import ops

from holdfast.geometry.coding import (
    FasterRcnnCoder,
    MeanStddevCoder,
    SquareCoder,
)

from .boxes_strategy import boxes, solid_boxes

GOLDEN: dict[str, Any] = {
    "faster_rcnn_10_10_5_5": FasterRcnnCoder(
        y_scale=10.0, x_scale=10.0, height_scale=5.0, width_scale=5.0
    ),
    "faster_rcnn_1": FasterRcnnCoder(y_scale=1.0, x_scale=1.0, height_scale=1.0, width_scale=1.0),
    "faster_rcnn_defaults": FasterRcnnCoder(),
    "mean_stddev": MeanStddevCoder(stddev=0.1),
    "square": SquareCoder(),
}
CODERS = [FasterRcnnCoder(), MeanStddevCoder(), SquareCoder()]


@pytest.mark.parametrize("name", GOLDEN)
def test_codes_equal_the_od_api(shared, name):
    golden = np.load(shared / "goldens/_units/box_ops.npz")
    codes = GOLDEN[name].encode(golden["boxes"], golden["anchors"])
    np.testing.assert_allclose(codes, golden[f"coder/{name}/encoded"], rtol=1e-5, atol=1e-5)
    decoded = GOLDEN[name].decode(golden[f"coder/{name}/encoded"], golden["anchors"])
    np.testing.assert_allclose(decoded, golden[f"coder/{name}/decoded"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("coder", [FasterRcnnCoder(), MeanStddevCoder()])
@settings(max_examples=40)
@given(solid_boxes((2, 3)), solid_boxes((3,)))
def test_decoding_gives_back_what_was_encoded(coder, corners, anchors):
    codes = coder.encode(corners, anchors)  # anchors broadcast over the batch
    assert codes.shape == (2, 3, coder.code_size)
    np.testing.assert_allclose(coder.decode(codes, anchors), corners, atol=1e-4)


@settings(max_examples=40)
@given(solid_boxes((3,)), solid_boxes((3,)))
def test_the_square_coder_gives_back_the_square_of_equal_area(corners, anchors):
    coder = SquareCoder()
    decoded = ops.convert_to_numpy(coder.decode(coder.encode(corners, anchors), anchors))
    sides = corners[:, 2:] - corners[:, :2]
    length = np.sqrt(sides.prod(axis=1, keepdims=True))
    np.testing.assert_allclose(decoded[:, 2:] - decoded[:, :2], np.tile(length, 2), atol=1e-4)
    np.testing.assert_allclose(
        decoded[:, 2:] + decoded[:, :2], corners[:, 2:] + corners[:, :2], atol=1e-4
    )


@pytest.mark.parametrize("coder", CODERS)
@settings(max_examples=40)
@given(boxes((4,)), boxes((4,)))
def test_codes_of_boxes_without_area_are_finite(coder, corners, anchors):
    assert np.isfinite(coder.encode(corners, anchors)).all()


@pytest.mark.parametrize("coder", CODERS)
def test_decoding_is_differentiable_in_the_codes(coder):
    codes = tf.zeros((1, 2, coder.code_size))
    anchors = tf.constant([[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    with tf.GradientTape() as tape:
        tape.watch(codes)
        value = tf.reduce_sum(coder.decode(codes, anchors) ** 2)
    assert np.isfinite(tape.gradient(value, codes)).all()
