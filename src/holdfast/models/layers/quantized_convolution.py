"""Convolutions with rounded kernels, and activations whose results are rounded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import keras
from keras import ops

from holdfast.geometry.tensor import Tensor
from holdfast.models.layers.fake_quantization import FakeQuantizer, known_range, quantized_kernel
from holdfast.models.layers.quantization_clock import QuantizationSettings, quantization

# What runtimes compute as one with the convolution before it: nothing is rounded between.
_FUSED = ("linear", "relu", "relu6")
_HIGHEST_GATE = 255 / 256  # runtimes give a sigmoid this range, whatever is observed


class QuantizedConv2D(keras.layers.Conv2D):
    """A convolution whose kernel is rounded, each output channel by itself."""

    def __init__(
        self, filters: int | None, *, quantization: QuantizationSettings, **keywords: Any
    ) -> None:
        super().__init__(filters, **keywords)
        self.quantization = quantization

    def convolution_op(self, inputs: Tensor, kernel: Tensor) -> Tensor:
        return super().convolution_op(inputs, quantized_kernel(kernel, self.quantization))


class QuantizedDepthwiseConv2D(keras.layers.DepthwiseConv2D):
    """A depthwise convolution whose kernel is rounded, each channel by itself."""

    def __init__(self, *, quantization: QuantizationSettings, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.quantization = quantization

    def call(self, inputs: Tensor) -> Tensor:
        height, width, channels, _ = self.kernel.shape
        outputs = ops.depthwise_conv(
            inputs,
            quantized_kernel(self.kernel, self.quantization, (height, width, 1, channels)),
            strides=self.strides,
            padding=self.padding,
            dilation_rate=self.dilation_rate,
        )
        return outputs + self.bias if self.use_bias else outputs


class QuantizedSeparableConv2D(keras.layers.SeparableConv2D):
    """A separable convolution whose kernels and inner result are rounded."""

    def __init__(
        self, filters: int, kernel_size: int, *, quantization: QuantizationSettings, **keywords: Any
    ) -> None:
        super().__init__(filters, kernel_size, **keywords)
        self.quantization = quantization
        self.inner_quant = FakeQuantizer(quantization, name="inner_quant")

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        height, width, channels, multiplier = self.depthwise_kernel.shape
        shape = (height, width, 1, channels * multiplier)
        inner = ops.depthwise_conv(
            inputs,
            quantized_kernel(self.depthwise_kernel, self.quantization, shape),
            strides=self.strides,
            padding=self.padding,
        )
        outputs = ops.conv(
            self.inner_quant(inner, training=training),
            quantized_kernel(self.pointwise_kernel, self.quantization),
        )
        return outputs + self.bias if self.use_bias else outputs


class ActivationQuantizer(FakeQuantizer):
    """Activate, and round the result; where a runtime rounds before an activation too, do so."""

    def __init__(
        self, activation: str | None, settings: QuantizationSettings, **keywords: Any
    ) -> None:
        super().__init__(settings, **keywords)
        self.activation = keras.activations.get(activation)
        kind = self.activation.__name__
        self.is_gate = kind in ("silu", "sigmoid")
        self.before = None if kind in _FUSED else FakeQuantizer(settings, name="before")

    def call(self, values: Tensor, training: bool = False) -> Tensor:
        if self.before is not None:
            values = self.before(values, training=training)
        if not self.is_gate:
            return super().call(self.activation(values), training=training)
        gate = self._gate(ops.sigmoid(values))
        if self.activation.__name__ == "sigmoid":
            return gate
        return super().call(values * gate, training=training)

    def _gate(self, values: Tensor) -> Tensor:
        """Round a sigmoid's result; its range is known."""
        return known_range(values, 0.0, _HIGHEST_GATE, self.settings)


def activation_quantizer(activation: str | None, name: str) -> ActivationQuantizer | None:
    """Make what activates and rounds in the network that is being made; None: not quantized."""
    settings = quantization()
    return None if settings is None else ActivationQuantizer(activation, settings, name=name)


def full_convolution() -> Callable[..., keras.layers.Layer]:
    """Give the class of convolutions in the network that is being made."""
    settings = quantization()
    return (
        keras.layers.Conv2D if settings is None else partial(QuantizedConv2D, quantization=settings)
    )


def separable_convolution() -> Callable[..., keras.layers.Layer]:
    """Give the class of separable convolutions in the network that is being made."""
    settings = quantization()
    return (
        keras.layers.SeparableConv2D
        if settings is None
        else partial(QuantizedSeparableConv2D, quantization=settings)
    )


def depthwise_convolution() -> Callable[..., keras.layers.Layer]:
    """Give the class of depthwise convolutions in the network that is being made."""
    settings = quantization()
    return (
        keras.layers.DepthwiseConv2D
        if settings is None
        else partial(QuantizedDepthwiseConv2D, quantization=settings)
    )
