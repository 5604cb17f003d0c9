"""Rounding against plain NumPy, ranges by hand, gradients where nothing was clipped."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import assume, given
from hypothesis import settings as limits
from hypothesis import strategies as st

from holdfast.models.layers.fake_quantization import (
    FakeQuantizer,
    fake_quantizer,
    joined_ranges,
    known_range,
    observed_ranges,
    quantized,
    quantized_kernel,
    rounded_together,
)
from holdfast.models.layers.quantization_clock import (
    QuantizationClock,
    QuantizationSettings,
    quantized_layers,
)
from holdfast.models.layers.recomputation import second_run

BITS = st.sampled_from([2, 4, 8, 16])


def settings(delay: int = 0, **keywords) -> QuantizationSettings:
    return QuantizationSettings(clock=QuantizationClock(delay), **keywords)


def ranged(low: float, high: float, **keywords) -> FakeQuantizer:
    """Make a quantizer that has observed a range."""
    quantizer = FakeQuantizer(settings(**keywords))
    quantizer.build(())
    quantizer.min.assign(low)
    quantizer.max.assign(high)
    return quantizer


def variable(values) -> keras.Variable:
    return keras.Variable(np.asarray(values, np.float32))


def on_grid(values: np.ndarray, low: float, high: float, bits: int, lowest: int = 0) -> np.ndarray:
    """Round as integers from lowest to 2^bits - 1 do, 0 being one of them."""
    levels = 2**bits - 1
    scale = (high - low) / (levels - lowest)
    zero = np.clip(np.round(lowest - low / scale), lowest, levels)
    integers = np.clip(np.round(values / scale) + zero, lowest, levels)
    return (integers - zero) * scale


@limits(max_examples=20)
@given(st.floats(0.1, 10.0), st.floats(0.1, 10.0), BITS)
def test_values_become_those_that_integers_can_say(below, above, bits):
    zero = below / ((below + above) / (2**bits - 1))
    assume(abs(zero % 1 - 0.5) > 0.01)  # else it is the last bit that decides which integer is 0
    values = np.random.default_rng(0).uniform(-12.0, 12.0, 200)
    found = ranged(-below, above, activation_bits=bits)(values.astype(np.float32)).numpy()
    step = (below + above) / (2**bits - 1)
    expected = on_grid(values, -below, above, bits)
    assert len(np.unique(found)) <= 2**bits
    # A value in the middle between two integers may become either.
    assert np.abs(found - expected).max() <= step * 1.01
    assert np.mean(np.abs(found - expected) > step * 0.01) < (0.02 if bits < 16 else 1.0)
    assert ranged(-below, above, activation_bits=bits)(np.zeros(1, np.float32)) == 0.0


@given(BITS)
def test_each_channel_of_a_kernel_is_rounded_by_its_own_largest_value(bits):
    random = np.random.default_rng(1)
    kernel = random.normal(0, 1, (3, 3, 4, 5)) * np.array([0.01, 0.1, 1, 10, 0])
    found = quantized_kernel(variable(kernel), settings(weight_bits=bits)).numpy()
    for channel in range(4):
        own = kernel[..., channel]
        most = np.abs(own).max()
        expected = on_grid(own, -most, most, bits, lowest=1)  # narrow: as many below as above
        np.testing.assert_allclose(found[..., channel], expected, atol=most * 1e-3)
    assert (found[..., 4] == 0).all()


def test_gradients_pass_where_nothing_was_clipped_and_nowhere_else():
    values = tf.constant([-3.0, -0.5, 0.2, 0.9, 3.0])
    quantizer = ranged(-1.0, 1.0)
    with tf.GradientTape() as tape:
        tape.watch(values)
        total = tf.reduce_sum(quantizer(values) * tf.constant([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert tape.gradient(total, values).numpy().tolist() == [0, 2, 3, 4, 0]


def test_a_kernel_gets_the_gradient_of_its_rounded_self():
    kernel = variable(np.random.default_rng(2).normal(0, 1, (1, 1, 3, 4)))
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(quantized_kernel(kernel, settings()) * 2.0)
    assert (tape.gradient(total, kernel.value).numpy() == 2.0).all()


def test_before_its_delay_a_network_is_float_and_from_then_on_rounded():
    quantizer = ranged(-1.0, 1.0, delay=3)
    values, kernel = tf.constant([0.1234]), variable([[0.1234, 3.0], [1.0, 1.1]])
    for step in range(5):
        quantizer.settings.clock.step.assign(step)
        assert (quantizer(values).numpy() == values.numpy()).all() == (step < 3)
        rounded = quantized_kernel(kernel, quantizer.settings)
        assert (rounded.numpy() == kernel.numpy()).all() == (step < 3)
    expected = rounded.numpy(), quantizer(values).numpy()
    assert quantizer.settings.clock.settle()
    found = quantized_kernel(kernel, quantizer.settings).numpy(), quantizer(values).numpy()
    np.testing.assert_allclose(
        np.concatenate([*map(np.ravel, found)]), np.concatenate([*map(np.ravel, expected)])
    )


def test_what_was_never_observed_passes_as_it_is():
    quantizer = FakeQuantizer(settings())
    assert quantizer(tf.constant([0.1234])).numpy() == np.float32(0.1234)


def test_a_symmetric_range_reaches_as_far_below_as_above():
    quantizer = ranged(-0.5, 2.0, is_symmetric=True)
    assert quantizer(tf.constant([-1.9])).numpy() == pytest.approx(-1.9, abs=0.01)


def test_a_known_range_needs_no_observation():
    values = np.array([-2.0, 0.123, 3.0])
    found = known_range(tf.constant(values, tf.float32), -1.0, 2.0, settings()).numpy()
    np.testing.assert_allclose(found, on_grid(values, -1.0, 2.0, 8), atol=1e-6)


def test_half_precision_stays_half_precision():
    found = ranged(-1.0, 1.0)(tf.constant([0.5], tf.float16))
    assert found.dtype == tf.float16


def follow(quantizer: FakeQuantizer, *batches: list[float]) -> tuple[float, float]:
    for number, batch in enumerate(batches):
        quantizer.settings.clock.step.assign(number)
        with observed_ranges() as seen:
            quantizer(tf.constant(batch), training=True)
        (reach,) = joined_ranges([quantizer], [tf.zeros(2)], seen)
        quantizer.follow(reach)
    return float(quantizer.min.value), float(quantizer.max.value)


def test_a_young_range_is_the_mean_of_what_it_saw():
    quantizer = FakeQuantizer(settings())
    assert follow(quantizer, [-1.0, 3.0]) == (-1.0, 3.0)
    # The first batch counts twice, for a range that a checkpoint brought counts once.
    low, high = follow(FakeQuantizer(settings()), [-1.0, 3.0], [-4.0, 0.0], [0.0, 5.0])
    assert low == pytest.approx((-1 - 1 - 4 + 0) / 4)
    assert high == pytest.approx((3 + 3 + 0 + 5) / 4)


def test_an_old_range_follows_slowly():
    quantizer = ranged(-1.0, 1.0)
    quantizer.settings.clock.step.assign(10**6)
    quantizer.follow(tf.constant([1.0, 2.0]))
    assert float(quantizer.max.value) == pytest.approx(1.001)


def test_a_range_always_has_zero_in_it():
    assert follow(FakeQuantizer(settings()), [2.0, 3.0]) == (0.0, 3.0)


def test_nothing_but_zeros_leaves_a_range_alone():
    quantizer = ranged(-1.0, 1.0)
    quantizer.follow(tf.zeros(2))
    assert (float(quantizer.min.value), float(quantizer.max.value)) == (-1.0, 1.0)


def test_calls_of_one_step_are_seen_as_one_batch():
    quantizer = FakeQuantizer(settings())
    with observed_ranges() as seen:
        quantizer(tf.constant([-1.0, 1.0]), training=True)
        quantizer(tf.constant([-0.5, 4.0]), training=True)
    (reach,) = joined_ranges([quantizer], [tf.zeros(2)], seen)
    assert reach.numpy().tolist() == [1.0, 4.0]


def test_nobody_observes_what_is_computed_again_or_not_in_training():
    quantizer = FakeQuantizer(settings())
    with observed_ranges() as seen:
        quantizer(tf.constant([1.0]))
        with second_run():
            quantizer(tf.constant([1.0]), training=True)
    assert seen == []


def test_outside_of_a_quantized_network_there_is_no_quantizer():
    values = tf.constant([1.0])
    assert fake_quantizer("any") is None
    assert quantized(None, values, training=True) is values
    with quantized_layers(settings()):
        assert isinstance(fake_quantizer("any"), FakeQuantizer)


def test_what_is_joined_is_rounded_by_the_widest_range():
    narrow, wide = ranged(-1.0, 1.0), ranged(-2.0, 6.0)
    values = np.array([-3.0, -0.77, 5.5, 7.0])
    found = rounded_together(tf.constant(values, tf.float32), [narrow, wide]).numpy()
    np.testing.assert_allclose(found, on_grid(values, -2.0, 6.0, 8), atol=1e-5)
    narrow.settings.clock.settle()
    settled = rounded_together(tf.constant(values, tf.float32), [narrow, wide]).numpy()
    np.testing.assert_allclose(settled, found, atol=1e-6)
    assert rounded_together(values, [None, None]) is values
