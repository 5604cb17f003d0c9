"""Separable convolutions: depthwise, then pointwise, with nothing between."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import keras

from holdfast.errors import HoldfastError
from holdfast.geometry.tensor import Tensor
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import Convolution, LayerSettings, Padding


def full_or_separable(
    filters: int,
    kernel_size: int,
    *,
    use_depthwise: bool,
    plain_depthwise: bool = False,
    plain_pointwise: bool = False,
    **keywords: Any,
) -> keras.layers.Layer:
    """Make a Convolution, or a Separable in its place."""
    if not use_depthwise:
        return Convolution(filters, kernel_size, **keywords)
    refuse_pointless_depthwise(kernel_size)
    return Separable(
        filters,
        kernel_size,
        plain_depthwise=plain_depthwise,
        plain_pointwise=plain_pointwise,
        **keywords,
    )


def refuse_pointless_depthwise(kernel_size: int) -> None:
    """Raise if a depthwise convolution would see one cell of one channel."""
    if kernel_size == 1:
        raise HoldfastError(
            "A depthwise convolution of kernel_size 1 sees nothing but its own cell and channel.",
            fix="Set kernel_size: 3, or remove use_depthwise.",
        )


def plain(settings: LayerSettings) -> LayerSettings:
    """Leave kernels to Keras: its initializer, no penalty.

    The OD API's Keras layers pass `conv_hyperparams` to depthwise and separable convolutions under
    a name that these do not read, so that some kernels never get the config's.
    """
    return replace(settings, kernel_initializer=keras.initializers.GlorotUniform(), l1=0.0, l2=0.0)


class Separable(Block):
    """Convolve each channel alone, mix the channels, normalize, activate.

    plain_depthwise, plain_pointwise: that kernel is left to Keras, see `plain`. The other keywords
    are those of Convolution; bias, normalization and activation follow the pointwise half.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: int,
        *,
        settings: LayerSettings,
        plain_depthwise: bool = False,
        plain_pointwise: bool = False,
        strides: int = 1,
        padding: Padding = "same",
        has_batch_norm: bool = True,
        has_activation: bool = True,
        use_bias: bool | None = None,
        bias_initializer: Any = "zeros",
        rounds_output: bool = True,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.depthwise = Convolution(
            None,
            kernel_size,
            kind="depthwise",
            settings=plain(settings) if plain_depthwise else settings,
            strides=strides,
            padding=padding,
            has_batch_norm=False,
            has_activation=False,
            use_bias=False,
            name="depthwise",
        )
        self.pointwise = Convolution(
            filters,
            1,
            settings=plain(settings) if plain_pointwise else settings,
            has_batch_norm=has_batch_norm,
            has_activation=has_activation,
            use_bias=use_bias,
            bias_initializer=bias_initializer,
            rounds_output=rounds_output,
            name="pointwise",
        )

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        return self.pointwise(self.depthwise(inputs, training=training), training=training)
