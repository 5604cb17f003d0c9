"""The loss scale falls on overflow, rises after many good steps, and changes no gradient."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from holdfast.training.step import precision
from holdfast.training.step.gradients import clip_by_global_norm
from holdfast.training.step.optimizers import Momentum, StepOptimizer
from holdfast.training.step.precision import LossScale, ScaleState, next_state


def test_the_scale_halves_at_once_and_doubles_after_2000_good_steps():
    scale = LossScale()
    update = tf.function(scale.update)
    seen = []
    for step in range(2004):
        update(tf.constant(step != 2))
        seen.append(float(scale.variables["scale"]))
    assert seen[:4] == [2.0**15, 2.0**15, 2.0**14, 2.0**14]
    assert seen[2001:] == [2.0**14, 2.0**15, 2.0**15]
    assert int(scale.variables["good_steps"]) == 1


@given(st.integers(0, 60), st.integers(0, 1999), st.booleans())
def test_the_scale_stays_a_power_of_two_between_its_limits(power, good_steps, is_finite):
    after = next_state(ScaleState(tf.constant(2.0**power), good_steps), is_finite)
    assert np.log2(float(after.scale)) in range(61)
    assert 0 <= int(after.good_steps) < precision.GROWTH_STEPS


def test_small_gradients_of_float16_survive_by_the_scale():
    weight = keras.Variable([1.0], name="kernel")
    scale = LossScale()

    def gradient(is_scaled: bool) -> float:
        with tf.GradientTape() as tape:
            half = tf.cast(weight.value, tf.float16)
            loss = tf.cast(tf.reduce_sum(half * half), tf.float32) * 1e-8
            loss = scale.scale(loss) if is_scaled else loss
        (found,) = tape.gradient(loss, [weight.value])
        return float(scale.unscale([found])[0][0] if is_scaled else found[0])

    assert gradient(is_scaled=False) == 0.0
    np.testing.assert_allclose(gradient(is_scaled=True), 2e-8, rtol=1e-3)


def test_a_mixed_network_skips_steps_until_its_gradients_fit_into_float16():
    layer = keras.layers.Dense(1, use_bias=False, dtype="mixed_float16", kernel_initializer="ones")
    inputs = tf.fill((1, 4), 16.0)
    layer.build(inputs.shape)
    optimizer, scale = StepOptimizer([layer.kernel], Momentum(momentum=0.0)), LossScale()
    assert layer.kernel.dtype == "float32"

    @tf.function
    def step() -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = scale.scale(tf.reduce_sum(tf.cast(layer(inputs), tf.float32)))
        gradients = scale.unscale(tape.gradient(loss, [layer.kernel.value]))
        clipped = clip_by_global_norm(gradients, None)
        is_finite = tf.math.is_finite(clipped.global_norm)

        def update() -> bool:
            optimizer.apply(clipped.gradients, 0.01)
            return True

        tf.cond(is_finite, update, lambda: False)
        scale.update(is_finite)
        return is_finite

    # The gradient, 16 times the scale, is above 65504 until the scale is 2^11.
    assert [bool(step()) for _ in range(6)] == [False] * 4 + [True] * 2
    assert float(scale.variables["scale"]) == 2.0**11
    assert int(optimizer.updates) == 2
    np.testing.assert_allclose(layer.kernel.value, np.full((4, 1), 1 - 2 * 0.16), rtol=1e-3)


def test_gradients_without_a_value_stay_so():
    assert LossScale().unscale([None]) == [None]
