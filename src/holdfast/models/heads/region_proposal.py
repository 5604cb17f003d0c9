"""The first stage's head (RPN): which anchors hold an object, and where its box is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from holdfast.geometry.tensor import Tensor
from holdfast.models.features import Feature
from holdfast.models.heads.convolutional import LevelPredictor
from holdfast.models.heads.output import join_levels
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import Convolution, LayerSettings

CODE_SIZE = 4
NUM_SLOTS = 2  # background, object


class RegionProposalOutput(NamedTuple):
    """Predictions of every anchor: level by level, row by row, cell by cell."""

    box_encodings: Tensor  # (B, A, 4)
    objectness_logits: Tensor  # (B, A, 2)  background, object
    features: tuple[Tensor, ...]  # (B, h, w, depth)  what the predictors saw, level by level


class RegionProposalHead(Block):
    """Convolve each map by a kernel that all levels share, then predict by 1x1 convolutions.

    Predictors are each level's own, as in the OD API. dilation: `first_stage_atrous_rate`. The
    shared convolution ends in ReLU6, whatever the settings say.
    """

    def __init__(
        self,
        features: Sequence[Feature],
        *,
        anchors_per_location: Sequence[int],
        settings: LayerSettings,
        depth: int = 512,
        kernel_size: int = 3,
        dilation: int = 1,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.shared = Convolution(
            depth,
            kernel_size,
            settings=replace(settings, activation="relu6"),
            dilation=dilation,
            name="shared",
        )
        self.levels = [
            LevelPredictor(
                [],
                box_channels=anchors * CODE_SIZE,
                class_channels=anchors * NUM_SLOTS,
                kernel_size=1,
                use_depthwise=False,
                plain_depthwise=False,
                dropout_rate=0.0,
                class_bias=0.0,
                settings=settings,
                name=f"level_{index}",
            )
            for index, (_, anchors) in enumerate(zip(features, anchors_per_location, strict=True))
        ]

    def call(self, maps: Sequence[Tensor], training: bool = False) -> RegionProposalOutput:
        features = tuple(self.shared(each, training=training) for each in maps)
        boxes, objectness = zip(
            *(
                level(feature, training=training)
                for level, feature in zip(self.levels, features, strict=True)
            ),
            strict=True,
        )
        return RegionProposalOutput(
            join_levels(boxes, CODE_SIZE), join_levels(objectness, NUM_SLOTS), features
        )
