"""A transposed convolution with its normalization and activation: maps of twice the size."""

from __future__ import annotations

from typing import Any

import keras

from holdfast.geometry.tensor import Tensor
from holdfast.models.layers.batch_norm import FusedBatchNorm
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import LayerSettings
from holdfast.models.layers.recomputation import kernel_first


class TransposedConvolution(Block):
    """Convolve with zeros between the cells, add a bias, normalize, activate."""

    def __init__(
        self,
        filters: int,
        kernel_size: int,
        *,
        settings: LayerSettings,
        strides: int = 2,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.convolution = keras.layers.Conv2DTranspose(
            filters,
            kernel_size,
            strides=strides,
            padding="same",
            kernel_initializer=settings.initializer(),
            kernel_regularizer=settings.regularizer(),
            name="convolution",
        )
        self.batch_norm = None
        if settings.batch_norm is not None:
            self.batch_norm = FusedBatchNorm(settings.batch_norm, name="batch_norm")
        self.activation = keras.activations.get(settings.activation)

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        outputs = kernel_first(self.convolution, inputs)
        if self.batch_norm is not None:
            outputs = self.batch_norm(outputs, training=training)
        return self.activation(outputs)
