"""The extra layers of SSD: ever coarser feature maps behind the backbone's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.geometry.tensor import Tensor
from holdfast.models.features import Feature
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import Convolution, LayerSettings, Padding
from holdfast.models.layers.separable import plain


class SsdLayers(Block):
    """Append feature maps of half the size each (SSD, arXiv 1512.02325, section 2.1).

    depths are nominal: each, and half of each for the 1x1 convolution before it, is multiplied by
    depth_multiplier and is at least min_depth. use_depthwise replaces the 3x3 convolution by a
    depthwise and a pointwise one, each with its normalization and activation (SSDLite).
    """

    def __init__(
        self,
        features: Sequence[Feature],
        *,
        settings: LayerSettings,
        depths: Sequence[int] = (512, 256, 256, 128),
        depth_multiplier: float = 1.0,
        min_depth: int = 16,
        use_depthwise: bool = False,
        plain_depthwise: bool = False,
        padding: Padding = "same",
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)

        def scaled(depth: int) -> int:
            return max(int(depth * depth_multiplier), min_depth)

        self.blocks = [
            ShrinkingBlock(
                scaled(depth // 2),
                scaled(depth),
                settings=settings,
                use_depthwise=use_depthwise,
                plain_depthwise=plain_depthwise,
                padding=padding,
                name=f"level_{level}",
            )
            for level, depth in enumerate(depths, start=len(features))
        ]
        coarser = [
            Feature(features[-1].stride * 2**step, scaled(depth))
            for step, depth in enumerate(depths, start=1)
        ]
        self.features = (*features, *coarser)

    def call(self, features: Sequence[Tensor], training: bool = False) -> list[Tensor]:
        outputs = list(features)
        for block in self.blocks:
            outputs.append(block(outputs[-1], training=training))
        return outputs


class ShrinkingBlock(Block):
    """Reduce the channels, then halve the size."""

    def __init__(
        self,
        reduced_depth: int,
        depth: int,
        *,
        settings: LayerSettings,
        use_depthwise: bool,
        plain_depthwise: bool,
        padding: Padding,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.reduce = Convolution(reduced_depth, 1, settings=settings, name="reduce")
        self.shrink_depthwise = None
        if use_depthwise:
            self.shrink_depthwise = Convolution(
                None,
                3,
                kind="depthwise",
                settings=plain(settings) if plain_depthwise else settings,
                strides=2,
                padding=padding,
                name="shrink_depthwise",
            )
            self.shrink = Convolution(depth, 1, settings=settings, name="shrink")
        else:
            self.shrink = Convolution(
                depth, 3, settings=settings, strides=2, padding=padding, name="shrink"
            )

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        outputs = self.reduce(inputs, training=training)
        if self.shrink_depthwise is not None:
            outputs = self.shrink_depthwise(outputs, training=training)
        return self.shrink(outputs, training=training)
