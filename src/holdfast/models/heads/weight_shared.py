"""The head of RetinaNet and EfficientDet: one predictor for all feature maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import keras
from keras import ops

from holdfast.errors import HoldfastError
from holdfast.geometry.tensor import Tensor
from holdfast.models.features import Feature
from holdfast.models.heads.output import HeadOutput, join_levels
from holdfast.models.layers.batch_norm import FusedBatchNorm
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import Convolution, LayerSettings
from holdfast.models.layers.dropout import Dropout
from holdfast.models.layers.quantized_convolution import activation_quantizer
from holdfast.models.layers.separable import full_or_separable


class WeightSharedHead(Block):
    """Predict boxes and classes by towers of convolutions that all levels share.

    Statistics of activations differ between levels: each has batch norms of its own (RetinaNet,
    arXiv 1708.02002). If the features' channels differ, each level is first projected to the most
    frequent number of channels. use_depthwise makes all convolutions separable; of these,
    plain_pointwise leaves the pointwise kernels of the towers to Keras' defaults, plain_predictors
    both kernels of the predictors. dropout_rate is the share of features dropped, before the
    classes only.
    """

    def __init__(
        self,
        features: Sequence[Feature],
        *,
        anchors_per_location: Sequence[int],
        num_class_slots: int,
        depth: int,
        num_layers_before_predictor: int,
        settings: LayerSettings,
        code_size: int = 4,
        kernel_size: int = 3,
        share_prediction_tower: bool = False,
        use_depthwise: bool = False,
        plain_pointwise: bool = False,
        plain_predictors: bool = False,
        dropout_rate: float = 0.0,
        class_bias: float = 0.0,
        box_clip_range: tuple[float, float] | None = None,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        _check(anchors_per_location)
        self.code_size = code_size
        self.num_class_slots = num_class_slots
        self.box_clip_range = box_clip_range
        convolution = partial(
            full_or_separable,
            kernel_size=kernel_size,
            use_depthwise=use_depthwise,
            settings=settings,
            has_batch_norm=False,
            has_activation=False,
        )
        shared = partial(
            convolution, depth, plain_pointwise=plain_pointwise, use_bias=_needs_bias(settings)
        )
        tower = partial(_tower, num_layers_before_predictor, shared, len(features), settings)
        self.projections = _projections(features, settings)
        self.box_tower = tower(name="tower" if share_prediction_tower else "box_tower")
        self.class_tower = None if share_prediction_tower else tower(name="class_tower")
        anchors = anchors_per_location[0]
        plain = {"plain_depthwise": plain_predictors, "plain_pointwise": plain_predictors}
        self.boxes = convolution(anchors * code_size, **plain, name="boxes")
        self.dropout = Dropout(dropout_rate, name="dropout") if dropout_rate else None
        bias = keras.initializers.Constant(class_bias)
        self.classes = convolution(
            anchors * num_class_slots, bias_initializer=bias, **plain, name="classes"
        )

    def call(self, features: Sequence[Tensor], training: bool = False) -> HeadOutput:
        if self.projections:
            features = [
                projection(feature, training=training)
                for projection, feature in zip(self.projections, features, strict=True)
            ]
        for_boxes = self.box_tower(features, training=training)
        for_classes = for_boxes
        if self.class_tower is not None:
            for_classes = self.class_tower(features, training=training)
        if self.dropout is not None:
            for_classes = [self.dropout(feature, training=training) for feature in for_classes]
        boxes = join_levels(
            [self.boxes(feature, training=training) for feature in for_boxes], self.code_size
        )
        if self.box_clip_range is not None:
            boxes = ops.clip(boxes, *self.box_clip_range)
        classes = join_levels(
            [self.classes(feature, training=training) for feature in for_classes],
            self.num_class_slots,
        )
        return HeadOutput(boxes, classes)


class Tower(Block):
    """Convolutions, one after the other, over all levels."""

    def __init__(self, blocks: Sequence[SharedConvolution], **keywords: Any) -> None:
        super().__init__(**keywords)
        self.blocks = list(blocks)

    def call(self, features: Sequence[Tensor], training: bool = False) -> list[Tensor]:
        outputs = list(features)
        for block in self.blocks:
            outputs = block(outputs, training=training)
        return outputs


class SharedConvolution(Block):
    """One convolution for all levels; each level is normalized by itself, then activated."""

    def __init__(
        self,
        shared: keras.layers.Layer,
        num_levels: int,
        *,
        settings: LayerSettings,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.shared = shared
        self.batch_norms = []
        if settings.batch_norm is not None:
            self.batch_norms = [
                FusedBatchNorm(settings.batch_norm, name=f"batch_norm_{level}")
                for level in range(num_levels)
            ]
        self.activation = keras.activations.get(settings.activation)
        self.act_quants = [
            activation_quantizer(settings.activation, f"act_quant_{level}")
            for level in range(num_levels)
        ]

    def call(self, features: Sequence[Tensor], training: bool = False) -> list[Tensor]:
        outputs = [self.shared(feature, training=training) for feature in features]
        if self.batch_norms:
            outputs = [
                batch_norm(output, training=training)
                for batch_norm, output in zip(self.batch_norms, outputs, strict=True)
            ]
        return [
            self.activation(output) if act_quant is None else act_quant(output, training=training)
            for act_quant, output in zip(self.act_quants, outputs, strict=True)
        ]


def _tower(
    num_layers: int,
    shared: Callable[..., keras.layers.Layer],
    num_levels: int,
    settings: LayerSettings,
    *,
    name: str,
) -> Tower:
    layers = [
        SharedConvolution(
            # What is rounded is each level's own, behind its normalization.
            shared(rounds_output=False, name="shared"),
            num_levels,
            settings=settings,
            name=f"layer_{index}",
        )
        for index in range(num_layers)
    ]
    return Tower(layers, name=name)


def _projections(features: Sequence[Feature], settings: LayerSettings) -> list[Convolution]:
    channels = [feature.channels for feature in features]
    if len(set(channels)) == 1:
        return []
    # A tie is broken by the order of a set, as in the OD API: a checkpoint's shapes depend on it.
    most_frequent = max(set(channels), key=channels.count)
    return [
        Convolution(
            most_frequent,
            1,
            settings=settings,
            has_activation=False,
            use_bias=_needs_bias(settings),
            name=f"projection_{level}",
        )
        for level in range(len(features))
    ]


def _needs_bias(settings: LayerSettings) -> bool:
    # Unlike elsewhere a batch norm without beta does not bring the bias back.
    return settings.batch_norm is None or settings.forces_bias


def _check(anchors_per_location: Sequence[int]) -> None:
    if len(set(anchors_per_location)) > 1:
        raise HoldfastError(
            "Feature maps that share one predictor need the same number of anchors per location; "
            f"they have {list(anchors_per_location)}.",
            fix="Give each level the same scales and aspect ratios, or use a "
            "convolutional_box_predictor.",
        )
