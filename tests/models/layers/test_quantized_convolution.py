"""A quantized convolution is a convolution by the rounded kernel."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from holdfast.models.layers.convolution import Convolution, LayerSettings
from holdfast.models.layers.fake_quantization import fake_quantizers, quantized_kernel
from holdfast.models.layers.quantization_clock import (
    QuantizationClock,
    QuantizationSettings,
    quantized_layers,
)
from holdfast.models.layers.quantized_convolution import (
    ActivationQuantizer,
    activation_quantizer,
    depthwise_convolution,
    full_convolution,
    separable_convolution,
)

IMAGES = np.random.default_rng(0).normal(0, 1, (2, 8, 8, 3)).astype(np.float32)


@pytest.fixture
def settings() -> QuantizationSettings:
    return QuantizationSettings(clock=QuantizationClock(0))


def made(layer_class, settings: QuantizationSettings, *arguments, **keywords):
    """Make the same layer plain and quantized, with the same weights."""
    plain = layer_class()(*arguments, **keywords)
    with quantized_layers(settings):
        rounded = layer_class()(*arguments, **keywords)
    plain(IMAGES), rounded(IMAGES)
    for own, other in zip(plain.trainable_variables, rounded.trainable_variables, strict=True):
        other.assign(own)
    return plain, rounded


def test_a_convolution_rounds_each_output_channel(settings):
    plain, rounded = made(full_convolution, settings, filters=5, kernel_size=3)
    found = rounded(IMAGES)
    plain.kernel.assign(quantized_kernel(plain.kernel, settings))
    np.testing.assert_array_equal(found, plain(IMAGES))


def test_a_depthwise_convolution_rounds_each_channel(settings):
    plain, rounded = made(depthwise_convolution, settings, kernel_size=3, strides=2)
    found = rounded(IMAGES)
    plain.kernel.assign(quantized_kernel(plain.kernel, settings, (3, 3, 1, 3)))
    np.testing.assert_array_equal(found, plain(IMAGES))


def test_a_separable_convolution_rounds_both_kernels(settings):
    plain, rounded = made(separable_convolution, settings, 5, 3, depth_multiplier=2, padding="same")
    found = rounded(IMAGES)
    for number in range(2):  # the kernel is (3, 3, C, 2)
        half = keras.Variable(plain.depthwise_kernel.value[..., number])
        rounded_half = quantized_kernel(half, settings)
        own = plain.depthwise_kernel.numpy()
        own[..., number] = rounded_half
        plain.depthwise_kernel.assign(own)
    plain.pointwise_kernel.assign(quantized_kernel(plain.pointwise_kernel, settings))
    np.testing.assert_allclose(found, plain(IMAGES), rtol=1e-5, atol=1e-5)


def test_unquantized_layers_are_those_of_keras():
    assert full_convolution() is keras.layers.Conv2D
    assert depthwise_convolution() is keras.layers.DepthwiseConv2D
    assert separable_convolution() is keras.layers.SeparableConv2D
    assert activation_quantizer("relu", "any") is None
    assert fake_quantizers(Convolution(4, 3, settings=LayerSettings())) == []


@pytest.mark.parametrize(
    ("activation", "quantizers"),
    [(None, 1), ("relu", 1), ("relu6", 1), ("hard_silu", 2), ("silu", 2), ("sigmoid", 2)],
)
def test_values_are_rounded_before_an_activation_that_runtimes_compute_by_itself(
    settings, activation, quantizers
):
    layer = ActivationQuantizer(activation, settings)
    assert len(fake_quantizers(layer)) == quantizers
    found = layer(tf.constant(IMAGES))
    plain = keras.activations.get(activation)(tf.constant(IMAGES))
    np.testing.assert_allclose(found, plain, atol=0.02)


def test_a_convolution_before_a_normalization_of_its_own_leaves_its_result_alone(settings):
    with quantized_layers(settings):
        layer = Convolution(4, 3, settings=LayerSettings(), rounds_output=False)
    assert fake_quantizers(layer) == []
