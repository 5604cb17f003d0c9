"""The third stage's head: the mask of each region, in the frame of its box."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf
from keras import ops

from holdfast.geometry.tensor import Tensor
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import Convolution, LayerSettings

# R regions: those of the first image, then those of the next


class RegionMaskHead(Block):
    """Turn regions (R, h, w, C) into mask logits (R, num_classes, height, width).

    are_class_agnostic: one mask for all classes, (R, 1, height, width). depth 0 chooses a number
    of channels between those of the region and the number of classes. convolve_then_upsample:
    regions are repeated to the mask's size after the convolutions, and convolved once more, instead
    of being resized before them.
    """

    def __init__(
        self,
        num_classes: int,
        *,
        channels: int,
        height: int,
        width: int,
        settings: LayerSettings,
        depth: int = 256,
        num_layers: int = 2,
        are_class_agnostic: bool = False,
        convolve_then_upsample: bool = False,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.height, self.width = height, width
        self.convolve_then_upsample = convolve_then_upsample
        depth = depth or mask_depth(channels, num_classes)
        self.convolutions = [
            Convolution(depth, 3, settings=settings, name=f"convolution_{index}")
            for index in range(num_layers - 1)
        ]
        self.after_upsampling = None
        if convolve_then_upsample:
            self.after_upsampling = Convolution(
                depth, 3, settings=settings, name="after_upsampling"
            )
        self.masks = Convolution(
            1 if are_class_agnostic else num_classes,
            3,
            settings=settings,
            has_batch_norm=False,
            has_activation=False,
            name="masks",
        )

    def call(self, regions: Tensor, training: bool = False) -> Tensor:
        outputs = regions if self.convolve_then_upsample else self._resized(regions)
        for convolution in self.convolutions:
            outputs = convolution(outputs, training=training)
        if self.after_upsampling is not None:
            outputs = self.after_upsampling(self._repeated(outputs), training=training)
        return ops.transpose(self.masks(outputs, training=training), (0, 3, 1, 2))

    def _resized(self, regions: Tensor) -> Tensor:
        # The corners of both grids coincide, a way that Keras' resize does not have.
        resized = tf.raw_ops.ResizeBilinear(
            images=regions, size=(self.height, self.width), align_corners=True
        )
        return ops.cast(resized, regions.dtype)

    def _repeated(self, regions: Tensor) -> Tensor:
        _, height, width, _ = regions.shape
        rows = ops.repeat(regions, self.height // height, axis=1)
        return ops.repeat(rows, self.width // width, axis=2)


def mask_depth(channels: int, num_classes: int) -> int:
    """Choose the channels of the convolutions: a power of two, by the OD API's rule.

    >>> mask_depth(1536, 90)
    256
    """
    exponent = (2.0 * math.log2(channels) + 3.0 * math.log2(num_classes)) / 5.0
    return int(2 ** round(exponent))
