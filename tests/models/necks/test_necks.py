"""What holds for every neck."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from .parts import FEATURES, NECKS, maps


@pytest.fixture(scope="module", params=list(NECKS))
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def neck(kind: str) -> keras.layers.Layer:
    return NECKS[kind]()


@pytest.mark.parametrize(("height", "width"), [(320, 256), (97, 161), (33, 1)])
def test_declared_features_are_true_for_any_size(neck: keras.layers.Layer, height: int, width: int):
    outputs = neck(maps(height, width, batch=1))
    assert [output.shape for output in outputs] == [
        (1, -(-height // stride), -(-width // stride), channels)
        for stride, channels in neck.features
    ]


def test_all_variables_are_named_below_the_neck(neck: keras.layers.Layer):
    neck(maps(32, 32))
    paths = [variable.path for variable in neck.variables]
    assert len(set(paths)) == len(paths)
    assert all(path.startswith("neck/") for path in paths)


def test_what_is_learned_in_training_is_used_in_inference(neck: keras.layers.Layer):
    inputs = maps(64, 64)
    before = neck(inputs)
    neck(inputs, training=True)
    pairs = zip(before, neck(inputs), strict=True)
    assert any(np.abs(one - other).max() > 1e-3 * np.abs(one).max() for one, other in pairs)


def test_a_size_unknown_until_the_call_changes_nothing(neck: keras.layers.Layer):
    inputs = maps(97, 65)
    expected = neck(inputs)
    unknown = [tf.TensorSpec((None, None, None, channels)) for _, channels in FEATURES]
    actual = tf.function(neck, input_signature=[unknown])(inputs)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_mixed_precision_computes_in_half_and_keeps_variables_whole(kind: str):
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        neck = NECKS[kind]()
    finally:
        keras.config.set_dtype_policy("float32")
    inputs = [keras.ops.cast(feature, "bfloat16") for feature in maps(33, 33)]
    outputs = neck(inputs, training=True)
    assert {output.dtype for output in outputs} == {tf.bfloat16}
    assert {variable.dtype for variable in neck.variables} == {"float32"}
    exact = NECKS[kind]()
    exact(inputs)
    exact.set_weights(neck.get_weights())
    expected = exact(maps(33, 33))
    largest = max(float(np.abs(output).max()) for output in expected)
    for one, other in zip(neck(inputs), expected, strict=True):
        np.testing.assert_allclose(keras.ops.cast(one, "float32"), other, atol=0.05 * largest)
