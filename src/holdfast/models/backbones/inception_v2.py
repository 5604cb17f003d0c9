"""Inception V2: modules of parallel branches, with batch norm (arXiv:1502.03167)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import keras
from keras import layers, ops
from keras.initializers import TruncatedNormal

from holdfast.geometry.tensor import Tensor
from holdfast.models.backbones.backbone import Backbone, Endpoint
from holdfast.models.backbones.backbone_spec import SlimNames, backbone
from holdfast.models.backbones.channels import scaled
from holdfast.models.features import Feature
from holdfast.models.layers.batch_norm import BatchNormSettings, FusedBatchNorm
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import Convolution, LayerSettings
from holdfast.models.layers.fake_quantization import fake_quantizer, quantized
from holdfast.models.layers.quantized_convolution import (
    activation_quantizer,
    separable_convolution,
)


class Step(NamedTuple):
    """A layer of a branch. Its name says what it is, and ends in the size of its kernel."""

    name: str
    channels: int = 0  # of a convolution; a pool has none of its own
    strides: int = 1
    stddev: float | None = None  # of the initial kernel; None: the settings' initializer
    padding: Literal["same", "valid"] = "same"
    dilation: int = 1


Branch = tuple[Step, ...]


def mixed(
    one: int, three: tuple[int, int], double: tuple[int, int], pooled: int, pool: str = "AvgPool"
) -> tuple[Branch, ...]:
    """Four branches: 1x1; 1x1 and 3x3; 1x1 and twice 3x3; pool and 1x1."""
    return (
        (Step("Conv2d_0a_1x1", one),),
        (Step("Conv2d_0a_1x1", three[0], stddev=0.09), Step("Conv2d_0b_3x3", three[1])),
        (
            Step("Conv2d_0a_1x1", double[0], stddev=0.09),
            Step("Conv2d_0b_3x3", double[1]),
            Step("Conv2d_0c_3x3", double[1]),
        ),
        (Step(f"{pool}_0a_3x3"), Step("Conv2d_0b_1x1", pooled, stddev=0.1)),
    )


def halving(three: tuple[int, int], double: tuple[int, int]) -> tuple[Branch, ...]:
    """Three branches of stride 2: 1x1 and 3x3; 1x1 and twice 3x3; pool."""
    return (
        (Step("Conv2d_0a_1x1", three[0], stddev=0.09), Step("Conv2d_1a_3x3", three[1], strides=2)),
        (
            Step("Conv2d_0a_1x1", double[0], stddev=0.09),
            Step("Conv2d_0b_3x3", double[1]),
            Step("Conv2d_1a_3x3", double[1], strides=2),
        ),
        (Step("MaxPool_1a_3x3", strides=2),),
    )


FIRST = Step("Conv2d_1a_7x7", 64, strides=2, stddev=1.0)
STEM = [
    Step("MaxPool_2a_3x3", strides=2),
    Step("Conv2d_2b_1x1", 64, stddev=0.1),
    Step("Conv2d_2c_3x3", 192),
    Step("MaxPool_3a_3x3", strides=2),
]
MODULES = {
    "Mixed_3b": mixed(64, (64, 64), (64, 96), 32),
    "Mixed_3c": mixed(64, (64, 96), (64, 96), 64),
    "Mixed_4a": halving((128, 160), (64, 96)),
    "Mixed_4b": mixed(224, (64, 96), (96, 128), 128),
    "Mixed_4c": mixed(192, (96, 128), (96, 128), 128),
    "Mixed_4d": mixed(160, (128, 160), (128, 160), 96),
    "Mixed_4e": mixed(96, (128, 192), (160, 192), 96),
    "Mixed_5a": halving((128, 192), (192, 256)),
    "Mixed_5b": mixed(352, (192, 320), (160, 224), 128),
    "Mixed_5c": mixed(352, (192, 320), (192, 224), 128, pool="MaxPool"),
}


@backbone(
    "inception_v2",
    levels={4: "Mixed_4c", 5: "Mixed_5c"},
    slim=SlimNames(scope="InceptionV2", last_endpoint="Mixed_5c"),
    is_numbered=True,
)
def inception_v2(
    endpoints: Sequence[str],
    *,
    settings: LayerSettings | None = None,
    depth_multiplier: float = 1.0,
    min_depth: int = 16,
    name: str = "backbone",
) -> Backbone:
    """Build Inception V2 with the endpoints Conv2d_1a_7x7, ..., Mixed_3b, ..., Mixed_5c."""
    settings = settings or default_settings()
    narrowed = partial(_narrowed, multiplier=depth_multiplier, minimum=min_depth)
    blocks: list[layers.Layer] = [SeparableStem(narrowed(FIRST), settings=settings)]
    stride, channels = FIRST.strides, narrowed(FIRST).channels
    known = [Endpoint(FIRST.name, FIRST.name, Feature(stride, channels))]
    for step in map(narrowed, STEM):
        blocks.append(step_layer(step, settings))
        stride, channels = stride * step.strides, step.channels or channels
        known.append(Endpoint(step.name, step.name, Feature(stride, channels)))
    for module, branches in MODULES.items():
        steps = [[narrowed(step) for step in branch] for branch in branches]
        blocks.append(InceptionModule(steps, settings=settings, name=module))
        stride *= steps[0][-1].strides
        channels = sum(branch[-1].channels or channels for branch in steps)
        known.append(Endpoint(module, module, Feature(stride, channels)))
    return Backbone(blocks, known, endpoints, name=name)


def default_settings() -> LayerSettings:
    """Make the settings of the network as a classifier.

    A detector of the OD API never has them: there the config must replace them.
    """
    return LayerSettings(
        activation="relu",
        batch_norm=BatchNormSettings(momentum=0.9997, epsilon=1e-3, scale=False),
        kernel_initializer=keras.initializers.HeNormal(),
        l2=4e-5,
    )


class InceptionModule(Block):
    """Run the branches side by side and join their channels."""

    def __init__(
        self, branches: Sequence[Sequence[Step]], *, settings: LayerSettings, **keywords: Any
    ) -> None:
        super().__init__(**keywords)
        self.branches = parallel_branches(branches, settings)
        self.joined_quant = fake_quantizer("joined_quant")

    @property
    def keras_order(self) -> list[layers.Layer]:
        """The order of TF2 checkpoints, which is by distance from the network's output."""
        return keras_order_of(self.branches)

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        outputs = [branch(inputs, training=training) for branch in self.branches]
        joined = ops.concatenate(outputs, axis=-1)
        return quantized(self.joined_quant, joined, training=training)


def parallel_branches(
    branches: Sequence[Sequence[Step]], settings: LayerSettings
) -> list[InceptionBranch]:
    """Make branches that run side by side."""
    return [
        InceptionBranch(steps, settings=settings, name=f"Branch_{index}")
        for index, steps in enumerate(branches)
    ]


class InceptionBranch(Block):
    """Run the steps one after the other."""

    def __init__(self, steps: Sequence[Step], *, settings: LayerSettings, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.steps = [step_layer(step, settings) for step in steps]

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        outputs = inputs
        for step in self.steps:
            outputs = step(outputs, training=training)
        return outputs


def keras_order_of(branches: Sequence[InceptionBranch]) -> list[layers.Layer]:
    """List the layers of branches by their distance from the place where these are joined."""
    chains = [
        [step for step in branch.steps if isinstance(step, Convolution)] for branch in branches
    ]
    ordered: list[layers.Layer] = []
    for distance in range(max(map(len, chains)), 0, -1):
        units = [chain[-distance] for chain in chains if len(chain) >= distance]
        ordered += [unit.convolution for unit in units]
        ordered += [unit.batch_norm for unit in units if unit.batch_norm is not None]
    return ordered


class SeparableStem(Block):
    """The first convolution: several depthwise kernels per color, then 1x1, then as all others."""

    def __init__(self, step: Step, *, settings: LayerSettings) -> None:
        super().__init__(name=step.name)
        settings = _with_initializer(settings, step)
        of_depth = settings.regularizer() if settings.regularizes_depthwise else None
        self.convolution = separable_convolution()(
            step.channels,
            7,
            strides=step.strides,
            padding="same",
            # So that the three colors never get more depthwise than output channels.
            depth_multiplier=min(step.channels // 3, 8),
            use_bias=settings.batch_norm is None,
            depthwise_initializer=settings.initializer(),
            pointwise_initializer=settings.initializer(),
            depthwise_regularizer=of_depth,
            pointwise_regularizer=settings.regularizer(),
            name="convolution",
        )
        self.batch_norm = None
        if settings.batch_norm is not None:
            self.batch_norm = FusedBatchNorm(settings.batch_norm, name="batch_norm")
        self.activation = keras.activations.get(settings.activation)
        self.act_quant = activation_quantizer(settings.activation, "act_quant")

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        outputs = self.convolution(inputs, training=training)
        if self.batch_norm is not None:
            outputs = self.batch_norm(outputs, training=training)
        if self.act_quant is not None:
            return self.act_quant(outputs, training=training)
        return self.activation(outputs)


def step_layer(step: Step, settings: LayerSettings) -> layers.Layer:
    """Make the layer that a step describes."""
    kind, *_, size = step.name.split("_")
    height, width = (int(side) for side in size.split("x"))
    match kind:
        case "MaxPool":
            return layers.MaxPooling2D(height, step.strides, padding=step.padding, name=step.name)
        case "AvgPool":  # of what lies inside the image: the padding does not count
            return layers.AveragePooling2D(
                height, step.strides, padding=step.padding, name=step.name
            )
        case _:
            return Convolution(
                step.channels,
                (height, width),
                strides=step.strides,
                dilation=step.dilation,
                padding=step.padding,
                settings=_with_initializer(settings, step),
                use_bias=settings.batch_norm is None,
                name=step.name,
            )


def _with_initializer(settings: LayerSettings, step: Step) -> LayerSettings:
    if step.stddev is None:
        return settings
    return replace(settings, kernel_initializer=TruncatedNormal(stddev=step.stddev))


def _narrowed(step: Step, *, multiplier: float, minimum: int) -> Step:
    if not step.channels:
        return step
    return step._replace(channels=scaled(step.channels, multiplier, minimum))
