"""Feature pyramid network, full or depthwise (FPNLite)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import keras

from holdfast.geometry.tensor import Tensor
from holdfast.models.features import Feature
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import Convolution, LayerSettings, Padding
from holdfast.models.layers.fake_quantization import fake_quantizer, quantized
from holdfast.models.layers.separable import full_or_separable
from holdfast.models.necks.resampling import upsample_to


class Fpn(Block):
    """Pass what coarse maps know down to fine ones (FPN, arXiv 1612.03144).

    The coarsest map is only projected; each finer one is projected, gets the next coarser one added
    and is smoothed. num_coarse_levels more maps of half the size each follow the coarsest.

    upsamples_smoothed: what goes down to the next level is the smoothed map (the OD API's Keras
    networks) or the sum before smoothing (its TF1 networks, and the paper).
    """

    def __init__(
        self,
        features: Sequence[Feature],
        *,
        depth: int,
        num_coarse_levels: int,
        upsamples_smoothed: bool,
        settings: LayerSettings,
        use_depthwise: bool = False,
        plain_pointwise: bool = False,
        padding: Padding = "same",
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.upsamples_smoothed = upsamples_smoothed
        strides = [feature.stride for feature in features]
        self.factors = [coarse // fine for fine, coarse in pairwise(strides)]

        def convolution(name: str, strides: int = 1) -> keras.layers.Layer:
            return full_or_separable(
                depth,
                3,
                use_depthwise=use_depthwise,
                plain_pointwise=plain_pointwise,
                settings=settings,
                strides=strides,
                padding=padding,
                name=name,
            )

        levels = range(1, len(features) + 1)
        self.laterals = [_lateral(depth, settings, f"lateral_{level}") for level in levels]
        self.smoothings = [convolution(f"smoothing_{level}") for level in levels[:-1]]
        self.sum_quants = [fake_quantizer(f"sum_quant_{level}") for level in levels[:-1]]
        steps = range(1, num_coarse_levels + 1)
        self.coarse = [convolution(f"coarse_{step}", strides=2) for step in steps]
        self.features = tuple(
            Feature(stride, depth) for stride in [*strides, *(strides[-1] * 2**s for s in steps)]
        )

    def call(self, features: Sequence[Tensor], training: bool = False) -> list[Tensor]:
        *finer, coarsest = [
            lateral(feature, training=training)
            for lateral, feature in zip(self.laterals, features, strict=True)
        ]
        outputs = [coarsest]  # finest first
        above = coarsest
        for lateral, smoothing, factor, sum_quant in zip(
            *map(reversed, (finer, self.smoothings, self.factors, self.sum_quants)), strict=True
        ):
            merged = upsample_to(above, lateral, factor) + lateral
            merged = quantized(sum_quant, merged, training=training)
            smoothed = smoothing(merged, training=training)
            outputs.insert(0, smoothed)
            above = smoothed if self.upsamples_smoothed else merged
        for coarse in self.coarse:
            outputs.append(coarse(outputs[-1], training=training))
        return outputs


def _lateral(depth: int, settings: LayerSettings, name: str) -> Convolution:
    return Convolution(
        depth, 1, settings=settings, has_batch_norm=False, has_activation=False, name=name
    )
