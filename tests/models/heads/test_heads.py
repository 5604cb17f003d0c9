"""What holds for every head."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from ..necks.parts import maps
from .parts import FEATURES, HEADS


@pytest.fixture(scope="module", params=list(HEADS))
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def head(kind: str) -> keras.layers.Layer:
    return HEADS[kind]()


def anchors(head: keras.layers.Layer, height: int, width: int) -> int:
    per_location = (3, 3) if hasattr(head, "box_tower") else (3, 6)
    return sum(
        count * -(-height // stride) * -(-width // stride)
        for count, (stride, _) in zip(per_location, FEATURES, strict=True)
    )


@pytest.mark.parametrize(("height", "width"), [(320, 256), (97, 161), (33, 1)])
def test_every_anchor_gets_a_box_and_classes(head: keras.layers.Layer, height: int, width: int):
    output = head(maps(height, width, FEATURES))
    assert output.box_encodings.shape == (2, anchors(head, height, width), 4)
    assert output.class_logits.shape == (2, anchors(head, height, width), 5)


def test_all_variables_are_named_below_the_head(head: keras.layers.Layer):
    head(maps(32, 32, FEATURES))
    paths = [variable.path for variable in head.variables]
    assert len(set(paths)) == len(paths)
    assert all(path.startswith("head/") for path in paths)


def test_a_size_unknown_until_the_call_changes_nothing(head: keras.layers.Layer):
    inputs = maps(97, 65, FEATURES)
    unknown = [tf.TensorSpec((None, None, None, channels)) for _, channels in FEATURES]
    actual = tf.function(head, input_signature=[unknown])(inputs)
    for one, other in zip(actual, head(inputs), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_the_number_of_anchors_is_known_when_only_the_batch_is_not(head: keras.layers.Layer):
    inputs = [keras.KerasTensor((None, 6, 5, channels)) for _, channels in FEATURES]
    output = head(inputs)
    assert output.box_encodings.shape[1:] == (*output.class_logits.shape[1:-1], 4)
    assert output.box_encodings.shape[1] in (30 * 6, 30 * 9)


def test_dropout_is_random_in_training_only(kind: str, head: keras.layers.Layer):
    inputs = maps(64, 64, FEATURES)
    one, other = (head(inputs, training=True) for _ in range(2))
    np.testing.assert_allclose(one.box_encodings, other.box_encodings, atol=1e-6)
    assert np.allclose(one.class_logits, other.class_logits, atol=1e-6) == (
        kind not in ("ssd", "retina")
    )
    one, other = (head(inputs) for _ in range(2))
    np.testing.assert_array_equal(one.class_logits, other.class_logits)


def test_mixed_precision_computes_in_half_and_keeps_variables_whole(kind: str):
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        head = HEADS[kind]()
    finally:
        keras.config.set_dtype_policy("float32")
    inputs = [keras.ops.cast(feature, "bfloat16") for feature in maps(33, 33, FEATURES)]
    output = head(inputs, training=True)
    assert {tensor.dtype for tensor in output} == {tf.bfloat16}
    assert {variable.dtype for variable in head.trainable_variables} == {"float32"}
    exact = HEADS[kind]()
    exact(inputs)
    exact.set_weights(head.get_weights())
    for one, other in zip(head(inputs), exact(maps(33, 33, FEATURES)), strict=True):
        np.testing.assert_allclose(
            keras.ops.cast(one, "float32"), other, atol=0.05 * float(np.abs(other).max())
        )
