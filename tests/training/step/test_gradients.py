"""Gradients are clipped by their common norm, and those of biases can count more."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from holdfast.training.step.gradients import (
    GradientRules,
    clip_by_global_norm,
    multiply_bias_gradients,
)

GRADIENTS = [tf.constant([[3.0, 0.0]]), None, tf.constant([4.0])]  # a norm of 5


def test_the_norm_is_that_of_all_gradients_together():
    clipped = clip_by_global_norm(GRADIENTS, None)
    assert float(clipped.global_norm) == 5.0
    assert clipped.gradients == GRADIENTS


def test_all_gradients_are_shortened_by_one_factor():
    first, none, last = clip_by_global_norm(GRADIENTS, 2.5).gradients
    np.testing.assert_allclose(first, [[1.5, 0.0]], rtol=1e-6)
    assert none is None
    np.testing.assert_allclose(last, [2.0], rtol=1e-6)


def test_gradients_within_the_limit_stay():
    first, _, last = clip_by_global_norm(GRADIENTS, 5.5).gradients
    np.testing.assert_allclose(first, GRADIENTS[0], rtol=1e-6)
    np.testing.assert_allclose(last, GRADIENTS[2], rtol=1e-6)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_one_gradient_that_is_not_finite_shows_in_the_norm(bad):
    gradients = [tf.ones(3), tf.constant([1.0, bad])]
    assert not np.isfinite(clip_by_global_norm(gradients, 1.0).global_norm)


def test_the_offset_of_batch_norm_is_no_bias():
    network = keras.Sequential(
        [keras.Input((2,)), keras.layers.Dense(2), keras.layers.BatchNormalization()]
    )
    trained = network.trainable_variables
    multiplied = multiply_bias_gradients([tf.ones(each.shape) for each in trained], trained, 2.0)
    pairs = zip(trained, multiplied, strict=True)
    sizes = {variable.name: float(tf.reduce_max(gradient)) for variable, gradient in pairs}
    assert sizes == {"kernel": 1.0, "bias": 2.0, "gamma": 1.0, "beta": 1.0}


def test_biases_are_multiplied_before_the_norm_is_taken():
    bias = keras.Variable([1.0], name="bias")
    rules = GradientRules(clip_norm=3.0, bias_multiplier=10.0)
    clipped = rules.apply([tf.constant([0.6])], [bias])
    assert float(clipped.global_norm) == pytest.approx(6.0)
    np.testing.assert_allclose(clipped.gradients[0], [3.0], rtol=1e-6)


def test_a_group_that_explodes_does_not_shorten_the_others():
    named = [keras.Variable(np.zeros(shape), name="kernel") for shape in ((1, 2), (1,), (1,))]
    for variable, path in zip(named, ("a/x/kernel", "a/x/bias", "b/y/kernel"), strict=True):
        variable._path = f"detector/{path}"
    gradients = [tf.constant([[300.0, 0.0]]), tf.constant([400.0]), tf.constant([0.5])]
    rules = GradientRules(group_norm=5.0)
    clipped = rules.apply(gradients, named)
    np.testing.assert_allclose(clipped.gradients[0], [[3.0, 0.0]], rtol=1e-6)
    np.testing.assert_allclose(clipped.gradients[1], [4.0], rtol=1e-6)
    np.testing.assert_allclose(clipped.gradients[2], [0.5])
    assert float(clipped.global_norm) == pytest.approx(np.hypot(500.0, 0.5))
