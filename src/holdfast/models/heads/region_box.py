"""The second stage's head: the class of each region, and its box relative to the proposal."""

from __future__ import annotations

from typing import Any, NamedTuple

from keras import ops

from holdfast.geometry.tensor import Tensor
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import LayerSettings
from holdfast.models.layers.dropout import Dropout
from holdfast.models.layers.fully_connected import FullyConnected

# R regions: those of the first image, then those of the next


class RegionBoxOutput(NamedTuple):
    """Predictions of every region."""

    box_encodings: Tensor  # (R, num_classes, 4); (R, 1, 4) where classes share a box
    class_logits: Tensor  # (R, num_classes + 1)  background first


class RegionBoxHead(Block):
    """Average each region (R, h, w, C) over its cells, then predict by one layer each.

    share_box_across_classes: one box for all classes. dropout_rate is the share of averaged
    features dropped, for boxes and for classes by draws of their own.
    """

    def __init__(
        self,
        num_classes: int,
        *,
        settings: LayerSettings,
        code_size: int = 4,
        share_box_across_classes: bool = False,
        dropout_rate: float = 0.0,
        use_bias: bool = True,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.num_boxes = 1 if share_box_across_classes else num_classes
        self.code_size = code_size

        def dropout(name: str) -> Dropout | None:
            return Dropout(dropout_rate, name=name) if dropout_rate else None

        def predictor(units: int, name: str) -> FullyConnected:
            return FullyConnected(units, settings=settings, use_bias=use_bias, name=name)

        self.box_dropout = dropout("box_dropout")
        self.boxes = predictor(self.num_boxes * code_size, "boxes")
        self.class_dropout = dropout("class_dropout")
        self.classes = predictor(num_classes + 1, "classes")

    def call(self, regions: Tensor, training: bool = False) -> RegionBoxOutput:
        averages = ops.mean(regions, axis=(1, 2))  # (R, C)

        def predicted(predictor: FullyConnected, dropout: Dropout | None) -> Tensor:
            kept = averages if dropout is None else dropout(averages, training=training)
            return predictor(kept, training=training)

        boxes = predicted(self.boxes, self.box_dropout)
        return RegionBoxOutput(
            ops.reshape(boxes, (-1, self.num_boxes, self.code_size)),
            predicted(self.classes, self.class_dropout),
        )
