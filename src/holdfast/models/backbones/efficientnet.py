"""EfficientNet B0 to B7 (arXiv 1905.11946)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import keras
from keras import ops

from holdfast.geometry.tensor import Tensor
from holdfast.models.backbones.backbone import Backbone, Endpoint, WholeBackbone
from holdfast.models.backbones.backbone_spec import backbone
from holdfast.models.backbones.channels import rounded
from holdfast.models.backbones.normalization import BY_DEVIATION
from holdfast.models.features import Feature
from holdfast.models.layers.batch_norm import BatchNormSettings
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import Convolution, LayerSettings
from holdfast.models.layers.dropout import Dropout
from holdfast.models.layers.fake_quantization import fake_quantizer, quantized
from holdfast.models.layers.quantization_clock import quantization
from holdfast.models.layers.quantized_convolution import activation_quantizer, full_convolution


class Scale(NamedTuple):
    """How a version differs from B0."""

    width: float
    depth: float


SCALES = {
    "b0": Scale(1.0, 1.0),
    "b1": Scale(1.0, 1.1),
    "b2": Scale(1.1, 1.2),
    "b3": Scale(1.2, 1.4),
    "b4": Scale(1.4, 1.8),
    "b5": Scale(1.6, 2.2),
    "b6": Scale(1.8, 2.6),
    "b7": Scale(2.0, 3.1),
}
DROP_CONNECT_RATE = 0.2  # of the last block; it rises from 0 at the first


def efficientnet(
    endpoints: Sequence[str],
    *,
    version: str = "b0",
    settings: LayerSettings | None = None,
    name: str = "backbone",
) -> Backbone:
    """Make the network; its endpoints are level_1 to level_5, of stride 2 to 32.

    They are taken where EfficientDet of the OD API takes them: after the same blocks in every
    version, though larger versions have more blocks of the same stride behind some of them.

    Of `settings`, the OD API obeys the weight of the regularizer alone, and takes that of L1 for
    L2. Whether batch norm is frozen is obeyed too.
    """
    settings = _obeyed(settings) if settings else default_settings()
    scale = SCALES[version]
    stem = Convolution(rounded(32 * scale.width), 3, settings=settings, strides=2, name="stem")
    plans = list(_plans(scale))
    known = [
        Endpoint(f"level_{level}", plan.name, Feature(plan.stride, plan.channels))
        for level, block in enumerate(_LEVEL_BLOCKS, start=1)
        for plan in plans
        if plan.name == block
    ]
    blocks = [EfficientBlock(plan, settings=settings, name=plan.name) for plan in plans]
    classifier = Classifier(scale, settings=settings, name="classifier")
    return WholeBackbone([stem, *blocks, classifier], known, endpoints, name=name)


_smaller = None
for _version in SCALES:
    backbone(
        f"efficientnet_{_version}",
        levels={level: f"level_{level}" for level in range(1, 6)},
        normalization=BY_DEVIATION,
        has_own_settings=True,
        is_numbered=True,
        smaller=_smaller,
    )(partial(efficientnet, version=_version))
    _smaller = f"efficientnet_{_version}"


def default_settings() -> LayerSettings:
    """Give what the convolutions share unless a config overrides it."""
    return LayerSettings(
        activation="swish",
        batch_norm=BatchNormSettings(momentum=0.99, epsilon=1e-3),
        kernel_initializer=keras.initializers.VarianceScaling(scale=2.0, mode="fan_out"),
        l2=1e-5,
        regularizes_depthwise=False,
    )


class EfficientBlock(Block):
    """Widen, convolve each channel, weigh channels, narrow; add the input if shapes allow.

    In training the sum forgets its new part for whole images, at drop_rate (arXiv 1603.09382).
    """

    def __init__(self, plan: BlockPlan, *, settings: LayerSettings, **keywords: Any) -> None:
        super().__init__(**keywords)
        wide = plan.channels_before * plan.expansion
        make = partial(Convolution, settings=settings, use_bias=False)
        self.expand = make(wide, 1, name="expand") if plan.expansion > 1 else None
        self.depthwise = make(
            None, plan.kernel_size, kind="depthwise", strides=plan.strides, name="depthwise"
        )
        self.squeeze_excite = SqueezeExcite(
            wide, max(1, plan.channels_before // 4), settings=settings, name="squeeze_excite"
        )
        self.project = make(plan.channels, 1, has_activation=False, name="project")
        self.has_shortcut = plan.strides == 1 and plan.channels_before == plan.channels
        self.drop_connect = DropConnect(plan.drop_rate, name="drop_connect")
        self.sum_quant = fake_quantizer("sum_quant") if self.has_shortcut else None

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        outputs = inputs
        if self.expand is not None:
            outputs = self.expand(outputs, training=training)
        outputs = self.depthwise(outputs, training=training)
        outputs = self.squeeze_excite(outputs, training=training)
        outputs = self.project(outputs, training=training)
        if not self.has_shortcut:
            return outputs
        outputs = inputs + self.drop_connect(outputs, training=training)
        return quantized(self.sum_quant, outputs, training=training)


class SqueezeExcite(Block):
    """Weigh each channel by what is in the whole image (arXiv 1709.01507)."""

    def __init__(
        self, channels: int, reduced: int, *, settings: LayerSettings, **keywords: Any
    ) -> None:
        super().__init__(**keywords)
        self.reduce = _dense(reduced, settings.activation, settings, "reduce")
        self.expand = _dense(channels, "sigmoid", settings, "expand")
        self.mean_quant = fake_quantizer("mean_quant")
        self.reduce_quant = activation_quantizer(settings.activation, "reduce_quant")
        self.expand_quant = activation_quantizer("sigmoid", "expand_quant")
        self.product_quant = fake_quantizer("product_quant")

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        mean = ops.mean(inputs, axis=(1, 2), keepdims=True)  # (B, 1, 1, C)
        mean = quantized(self.mean_quant, mean, training=training)
        reduced = quantized(self.reduce_quant, self.reduce(mean), training=training)
        gates = quantized(self.expand_quant, self.expand(reduced), training=training)
        return quantized(self.product_quant, inputs * gates, training=training)


class DropConnect(Dropout):
    """Zero all features of some images, and scale up the others to keep the mean."""

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        if not training:
            return inputs
        return self.dropped(inputs, (1, 1, 1))


class Classifier(Block):
    """Tell the classes of ImageNet."""

    def __init__(self, scale: Scale, *, settings: LayerSettings, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.top = Convolution(rounded(1280 * scale.width), 1, settings=settings, name="top")
        self.logits = keras.layers.Dense(
            1000,
            kernel_regularizer=settings.regularizer(),
            bias_regularizer=settings.regularizer(),
            name="logits",
        )

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        return self.logits(ops.mean(self.top(inputs, training=training), axis=(1, 2)))


class BlockPlan(NamedTuple):
    """What one inverted residual is made from."""

    name: str
    channels_before: int
    channels: int
    kernel_size: int
    expansion: int
    strides: int
    stride: int  # of the output, in pixels of the image
    drop_rate: float


class _Stack(NamedTuple):
    """Blocks of equal shape in B0."""

    channels: int
    kernel_size: int
    repeats: int
    expansion: int
    strides: int  # of its first block


_STACKS = (
    _Stack(16, 3, 1, 1, 1),
    _Stack(24, 3, 2, 6, 2),
    _Stack(40, 5, 2, 6, 2),
    _Stack(80, 3, 3, 6, 2),
    _Stack(112, 5, 3, 6, 1),
    _Stack(192, 5, 4, 6, 2),
    _Stack(320, 3, 1, 6, 1),
)
_LEVEL_BLOCKS = (
    *("stack_0_block_0", "stack_1_block_1", "stack_2_block_1"),
    *("stack_4_block_2", "stack_6_block_0"),
)


def _plans(scale: Scale) -> Iterator[BlockPlan]:
    repeats = [math.ceil(scale.depth * stack.repeats) for stack in _STACKS]
    before, stride, index = rounded(32 * scale.width), 2, 0
    for number, stack in enumerate(_STACKS):
        channels = rounded(stack.channels * scale.width)
        for repeat in range(repeats[number]):
            strides = stack.strides if repeat == 0 else 1
            stride *= strides
            yield BlockPlan(
                f"stack_{number}_block_{repeat}",
                before,
                channels,
                stack.kernel_size,
                stack.expansion,
                strides,
                stride,
                DROP_CONNECT_RATE * index / sum(repeats),
            )
            before, index = channels, index + 1


def _obeyed(settings: LayerSettings) -> LayerSettings:
    own = default_settings()
    is_frozen = settings.batch_norm is not None and settings.batch_norm.is_frozen
    return replace(
        own,
        l2=settings.l2 or 2 * settings.l1,
        batch_norm=own.batch_norm and replace(own.batch_norm, is_frozen=is_frozen),
    )


def _dense(
    channels: int, activation: str | None, settings: LayerSettings, name: str
) -> keras.layers.Layer:
    is_quantized = quantization() is not None  # what quantizes the result activates too
    return full_convolution()(
        channels,
        1,
        activation=None if is_quantized else activation,
        kernel_initializer=settings.initializer(),
        kernel_regularizer=settings.regularizer(),
        bias_regularizer=settings.regularizer(),
        name=name,
    )
