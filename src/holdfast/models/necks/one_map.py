"""The necks of CenterNet: from what a backbone gives to one map of stride 4."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import keras

from holdfast.geometry.tensor import Tensor
from holdfast.models.features import Feature
from holdfast.models.layers.batch_norm import BatchNormSettings
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import Convolution, LayerSettings
from holdfast.models.layers.separable import Separable
from holdfast.models.layers.transposed import TransposedConvolution
from holdfast.models.necks.resampling import upsample_to

Interpolation = Literal["nearest", "bilinear"]


class Upsampling(Block):
    """Double the coarsest map three times by transposed convolutions."""

    def __init__(
        self, features: Sequence[Feature], *, kernel_size: int = 3, **keywords: Any
    ) -> None:
        super().__init__(**keywords)
        settings = keras_settings()
        self.steps: list[Block] = []
        for filters in (256, 128, 64):
            self.steps += [
                Convolution(
                    filters,
                    kernel_size,
                    settings=settings,
                    use_bias=True,
                    name=f"convolution_{filters}",
                ),
                TransposedConvolution(filters, 3, settings=settings, name=f"doubling_{filters}"),
            ]
        self.features = (Feature(features[-1].stride // 8, 64),)

    def call(self, features: Sequence[Tensor], training: bool = False) -> list[Tensor]:
        current = features[-1]
        for step in self.steps:
            current = step(current, training=training)
        return [current]


class TopDown(Block):
    """Pass what coarse maps know down to the finest, which alone is given.

    widths: channels that come down to each finer map, the coarsest of them first. The OD API gives
    all convolutions Keras' own settings, and a bias before batch norm.
    """

    def __init__(
        self,
        features: Sequence[Feature],
        *,
        widths: Sequence[int],
        is_separable: bool = False,
        interpolation: Interpolation = "nearest",
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.interpolation = interpolation
        kind = Separable if is_separable else Convolution
        settings = keras_settings()
        self.top = _projection(widths[0], "top")
        self.laterals = [_projection(width, f"lateral_{width}") for width in widths]
        self.merges = [
            kind(after, 3, settings=settings, use_bias=True, name=f"merge_{width}")
            for width, after in zip(widths, [*widths[1:], widths[-1]], strict=True)
        ]
        self.features = (Feature(features[0].stride, widths[-1]),)

    @property
    def keras_order(self) -> list[keras.layers.Layer]:
        """The order of TF2 checkpoints: from the top down."""
        pairs = zip(self.laterals, self.merges, strict=True)
        return [self.top, *(layer for pair in pairs for layer in pair)]

    def call(self, features: Sequence[Tensor], training: bool = False) -> list[Tensor]:
        *finer, coarsest = features
        current = self.top(coarsest, training=training)
        for feature, lateral, merge in zip(
            reversed(finer), self.laterals, self.merges, strict=True
        ):
            beside = lateral(feature, training=training)
            current = merge(self._doubled(current, beside) + beside, training=training)
        return [current]

    def _doubled(self, inputs: Tensor, target: Tensor) -> Tensor:
        if self.interpolation == "nearest":
            return upsample_to(inputs, target, 2)
        _, height, width, _ = keras.ops.shape(inputs)
        doubled = keras.ops.image.resize(inputs, (2 * height, 2 * width), "bilinear")
        _, height, width, _ = keras.ops.shape(target)
        return doubled[:, :height, :width, :]


def keras_settings() -> LayerSettings:
    """Give Keras' own settings, with batch norm and ReLU."""
    return LayerSettings(
        activation="relu",
        batch_norm=BatchNormSettings(momentum=0.99, epsilon=1e-3),
        kernel_initializer=keras.initializers.GlorotUniform(),
    )


def _projection(filters: int, name: str) -> Convolution:
    settings = keras_settings()
    return Convolution(
        filters, 1, settings=settings, has_batch_norm=False, has_activation=False, name=name
    )
