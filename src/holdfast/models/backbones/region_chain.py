"""The second part of a network that a detector cuts in two: it sees regions, not images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

from holdfast.geometry.tensor import Tensor
from holdfast.models.layers.block import Block


class RegionChain(Block):
    """Run blocks one after the other on regions (R, h, w, C)."""

    def __init__(
        self, blocks: Sequence[keras.layers.Layer], *, channels: int, **keywords: Any
    ) -> None:
        super().__init__(**keywords)
        self.blocks = list(blocks)
        self.channels = channels  # that come out

    def call(self, regions: Tensor, training: bool = False) -> Tensor:
        outputs = regions
        for block in self.blocks:
            outputs = block(outputs, training=training)
        return outputs
