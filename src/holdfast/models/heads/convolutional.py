"""The head of SSD: each feature map has predictors of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from holdfast.geometry.tensor import Tensor
from holdfast.models.features import Feature
from holdfast.models.heads.output import HeadOutput, join_levels
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import Convolution, LayerSettings
from holdfast.models.layers.dropout import Dropout
from holdfast.models.layers.fake_quantization import rounded_together
from holdfast.models.layers.separable import plain, refuse_pointless_depthwise


class ConvolutionalHead(Block):
    """Predict boxes and classes by convolutions that no two levels share.

    num_layers_before_predictor 1x1 convolutions precede both; their depth is the feature's, kept
    between min_depth and max_depth, and at depth 0 there are none. use_depthwise puts a depthwise
    convolution with its normalization and activation before a 1x1 predictor (SSDLite).
    dropout_rate is the share of features dropped, before the classes only.
    apply_sigmoid_to_scores: class_logits are scores already, in training too.
    """

    def __init__(
        self,
        features: Sequence[Feature],
        *,
        anchors_per_location: Sequence[int],
        num_class_slots: int,
        settings: LayerSettings,
        code_size: int = 4,
        kernel_size: int = 1,
        num_layers_before_predictor: int = 0,
        min_depth: int = 0,
        max_depth: int = 0,
        use_depthwise: bool = False,
        plain_depthwise: bool = False,
        dropout_rate: float = 0.0,
        class_bias: float = 0.0,
        box_clip_range: tuple[float, float] | None = None,
        apply_sigmoid_to_scores: bool = False,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        if use_depthwise:
            refuse_pointless_depthwise(kernel_size)
        self.code_size = code_size
        self.num_class_slots = num_class_slots
        self.box_clip_range = box_clip_range
        self.apply_sigmoid_to_scores = apply_sigmoid_to_scores

        def depths(feature: Feature) -> list[int]:
            depth = max(min(feature.channels, max_depth), min_depth)
            return [depth] * num_layers_before_predictor if depth > 0 else []

        self.levels = [
            LevelPredictor(
                depths(feature),
                box_channels=anchors * code_size,
                class_channels=anchors * num_class_slots,
                kernel_size=kernel_size,
                use_depthwise=use_depthwise,
                plain_depthwise=plain_depthwise,
                dropout_rate=dropout_rate,
                class_bias=class_bias,
                settings=settings,
                name=f"level_{index}",
            )
            for index, (feature, anchors) in enumerate(
                zip(features, anchors_per_location, strict=True)
            )
        ]

    def call(self, features: Sequence[Tensor], training: bool = False) -> HeadOutput:
        boxes, classes = zip(
            *(
                level(feature, training=training)
                for level, feature in zip(self.levels, features, strict=True)
            ),
            strict=True,
        )
        box_encodings = join_levels(boxes, self.code_size)
        class_logits = join_levels(classes, self.num_class_slots)
        box_encodings = rounded_together(
            box_encodings, [level.boxes[-1].act_quant for level in self.levels]
        )
        class_logits = rounded_together(
            class_logits, [level.classes[-1].act_quant for level in self.levels]
        )
        if self.box_clip_range is not None:
            box_encodings = ops.clip(box_encodings, *self.box_clip_range)
        if self.apply_sigmoid_to_scores:
            class_logits = ops.sigmoid(class_logits)
        return HeadOutput(box_encodings, class_logits)


class LevelPredictor(Block):
    """The predictors of one feature map."""

    def __init__(
        self,
        depths: Sequence[int],
        *,
        box_channels: int,
        class_channels: int,
        kernel_size: int,
        use_depthwise: bool,
        plain_depthwise: bool,
        dropout_rate: float,
        class_bias: float,
        settings: LayerSettings,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)

        def predictor(channels: int, name: str, bias: float) -> list[keras.layers.Layer]:
            layers = []
            if use_depthwise:
                own = plain(settings) if plain_depthwise else settings
                layers.append(
                    Convolution(
                        None, kernel_size, kind="depthwise", settings=own, name=f"{name}_depthwise"
                    )
                )
            layers.append(
                Convolution(
                    channels,
                    1 if use_depthwise else kernel_size,
                    settings=settings,
                    has_batch_norm=False,
                    has_activation=False,
                    bias_initializer=keras.initializers.Constant(bias),
                    name=name,
                )
            )
            return layers

        self.shared = [
            Convolution(depth, 1, settings=settings, name=f"shared_{index}")
            for index, depth in enumerate(depths)
        ]
        self.boxes = predictor(box_channels, "boxes", 0.0)
        self.dropout = Dropout(dropout_rate, name="dropout") if dropout_rate else None
        self.classes = predictor(class_channels, "classes", class_bias)

    def call(self, feature: Tensor, training: bool = False) -> tuple[Tensor, Tensor]:
        def through(layers: Sequence[keras.layers.Layer], outputs: Tensor) -> Tensor:
            for layer in layers:
                outputs = layer(outputs, training=training)
            return outputs

        feature = through(self.shared, feature)
        boxes = through(self.boxes, feature)
        if self.dropout is not None:
            feature = self.dropout(feature, training=training)
        return boxes, through(self.classes, feature)
