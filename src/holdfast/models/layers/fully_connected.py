"""A fully connected layer with its activation and normalization."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from holdfast.geometry.tensor import Tensor
from holdfast.models.layers.batch_norm import FusedBatchNorm
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import LayerSettings


class FullyConnected(Block):
    """Mix all features of (R, C), activate, normalize: in this order.

    The settings' own activation is not taken: what calls this says which one there is.
    """

    def __init__(
        self,
        units: int,
        *,
        settings: LayerSettings,
        activation: str | None = None,
        use_bias: bool = True,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.dense = keras.layers.Dense(
            units,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=settings.initializer(),
            kernel_regularizer=settings.regularizer(),
            name="dense",
        )
        self.batch_norm = None
        if settings.batch_norm is not None:
            self.batch_norm = FusedBatchNorm(settings.batch_norm, name="batch_norm")

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        outputs = self.dense(inputs)
        if self.batch_norm is None:
            return outputs
        maps = outputs[:, None, None, :]  # (R, 1, 1, units): the fused kernel wants maps
        return ops.squeeze(self.batch_norm(maps, training=training), axis=(1, 2))
