"""Squeeze and excitation: gates on channels, computed from their means (arXiv:1709.01507)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from keras import ops

from holdfast.geometry.tensor import Tensor
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import Convolution, LayerSettings
from holdfast.models.layers.fake_quantization import fake_quantizer, quantized


class SqueezeExcitation(Block):
    """Multiply each channel of (B, H, W, C) by a gate in 0..1, as MobileNet V3 does."""

    def __init__(
        self, channels: int, *, squeezed: int, settings: LayerSettings, **keywords: Any
    ) -> None:
        super().__init__(**keywords)
        relu = replace(settings, activation="relu")
        self.squeeze = Convolution(squeezed, 1, settings=relu, has_batch_norm=False, name="Conv")
        self.excite = Convolution(
            channels,
            1,
            settings=settings,
            has_batch_norm=False,
            has_activation=False,
            name="Conv_1",
        )
        self.mean_quant = fake_quantizer("mean_quant")
        self.shift_quant = fake_quantizer("shift_quant")
        self.gate_quant = fake_quantizer("gate_quant")
        self.product_quant = fake_quantizer("product_quant")

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        means = ops.mean(inputs, axis=(1, 2), keepdims=True)  # (B, 1, 1, C)
        means = quantized(self.mean_quant, means, training=training)
        squeezed = self.squeeze(means, training=training)
        excitation = self.excite(squeezed, training=training)
        shifted = quantized(self.shift_quant, ops.relu6(excitation + 3.0), training=training)
        # Checkpoints were trained with this 1/6: its fifth digit shows in the features.
        gates = quantized(self.gate_quant, shifted * 0.16667, training=training)
        return quantized(self.product_quant, inputs * gates, training=training)
