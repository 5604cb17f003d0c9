"""Inception-ResNet V2 (arXiv:1602.07261): modules whose joined branches are added to their input.

In a detector of two stages the network is cut behind block17: what follows sees regions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import keras
from keras import layers, ops

from holdfast.geometry.tensor import Tensor
from holdfast.models.backbones.backbone import Backbone, Endpoint
from holdfast.models.backbones.backbone_spec import SlimNames, backbone
from holdfast.models.backbones.generation import Generation
from holdfast.models.backbones.inception_v2 import (
    Branch,
    InceptionModule,
    Step,
    keras_order_of,
    parallel_branches,
    step_layer,
)
from holdfast.models.backbones.region_chain import RegionChain
from holdfast.models.features import Feature
from holdfast.models.layers.batch_norm import BatchNormSettings
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import Convolution, LayerSettings

STEM = (
    Step("Conv2d_1a_3x3", 32, strides=2),
    Step("Conv2d_2a_3x3", 32),
    Step("Conv2d_2b_3x3", 64),
    Step("MaxPool_3a_3x3", strides=2),
    Step("Conv2d_3b_1x1", 80),
    Step("Conv2d_4a_3x3", 192),
    Step("MaxPool_5a_3x3", strides=2),
)
MIXED_5B: tuple[Branch, ...] = (
    (Step("Conv2d_1x1", 96),),
    (Step("Conv2d_0a_1x1", 48), Step("Conv2d_0b_5x5", 64)),
    (Step("Conv2d_0a_1x1", 64), Step("Conv2d_0b_3x3", 96), Step("Conv2d_0c_3x3", 96)),
    (Step("AvgPool_0a_3x3"), Step("Conv2d_0b_1x1", 64)),
)
MIXED_6A: tuple[Branch, ...] = (
    (Step("Conv2d_1a_3x3", 384, strides=2),),
    (
        Step("Conv2d_0a_1x1", 256),
        Step("Conv2d_0b_3x3", 256),
        Step("Conv2d_1a_3x3", 384, strides=2),
    ),
    (Step("MaxPool_1a_3x3", strides=2),),
)
MIXED_7A: tuple[Branch, ...] = (
    (Step("Conv2d_0a_1x1", 256), Step("Conv2d_1a_3x3", 384, strides=2)),
    (Step("Conv2d_0a_1x1", 256), Step("Conv2d_1a_3x3", 288, strides=2)),
    (
        Step("Conv2d_0a_1x1", 256),
        Step("Conv2d_0b_3x3", 288),
        Step("Conv2d_1a_3x3", 320, strides=2),
    ),
    (Step("MaxPool_1a_3x3", strides=2),),
)
BLOCK35: tuple[Branch, ...] = (
    (Step("Conv2d_1x1", 32),),
    (Step("Conv2d_0a_1x1", 32), Step("Conv2d_0b_3x3", 32)),
    (Step("Conv2d_0a_1x1", 32), Step("Conv2d_0b_3x3", 48), Step("Conv2d_0c_3x3", 64)),
)
BLOCK17: tuple[Branch, ...] = (
    (Step("Conv2d_1x1", 192),),
    (Step("Conv2d_0a_1x1", 128), Step("Conv2d_0b_1x7", 160), Step("Conv2d_0c_7x1", 192)),
)
BLOCK8: tuple[Branch, ...] = (
    (Step("Conv2d_1x1", 192),),
    (Step("Conv2d_0a_1x1", 192), Step("Conv2d_0b_1x3", 224), Step("Conv2d_0c_3x1", 256)),
)
LAST = Step("Conv2d_7b_1x1", 1536)


@backbone(
    "inception_resnet_v2",
    levels={3: "block35_10", 4: "block17_20", 5: LAST.name},
    slim=SlimNames(
        scope="InceptionResnetV2",
        units=(
            (r"^(block35_)", r"Repeat/\1"),
            (r"^(block17_)", r"Repeat_1/\1"),
            (r"^(block8_)", r"Repeat_2/\1"),
        ),
        region_units=((r"^(block8_)", r"Repeat/\1"),),
    ),
    is_numbered=True,
)
def inception_resnet_v2(
    endpoints: Sequence[str],
    *,
    settings: LayerSettings | None = None,
    stride: int = 16,
    name: str = "backbone",
) -> Backbone:
    """Make the network; its endpoints are block35_10, block17_20 and Conv2d_7b_1x1.

    stride: of block17; at 8 its kernels are dilated instead, and there is nothing behind it.
    """
    settings = settings or default_settings()
    mixed_6a, block17 = MIXED_6A, BLOCK17
    if stride == 8:
        mixed_6a, block17 = _changed(MIXED_6A, strides=1), _changed(BLOCK17, dilation=2)
    module = partial(InceptionModule, settings=settings)
    blocks: list[layers.Layer] = [
        *(step_layer(step, settings) for step in STEM),
        module(MIXED_5B, name="Mixed_5b"),
        *_repeated("block35", BLOCK35, 10, 320, 0.17, settings),
        module(mixed_6a, name="Mixed_6a"),
        *_repeated("block17", block17, 20, 1088, 0.1, settings),
    ]
    known = [
        Endpoint("block35_10", "block35_10", Feature(8, 320)),
        Endpoint("block17_20", "block17_20", Feature(stride, 1088)),
    ]
    if LAST.name in endpoints:
        blocks += _behind_block17(MIXED_7A, settings)
        known.append(Endpoint(LAST.name, LAST.name, Feature(2 * stride, LAST.channels)))
    return Backbone(blocks, known, endpoints, name=name)


def inception_resnet_v2_of_images(
    *,
    settings: LayerSettings,
    generation: Generation,
    stride: int = 16,
    name: str = "backbone",
) -> Backbone:
    """Make the part up to block17."""
    return inception_resnet_v2(("block17_20",), settings=settings, stride=stride, name=name)


def inception_resnet_v2_of_regions(
    *, settings: LayerSettings, generation: Generation, name: str = "region_extractor"
) -> RegionChain:
    """Make the part behind block17, which halves regions; tf1 without padding."""
    module = MIXED_7A
    if generation == "tf1":
        module = tuple(
            tuple(step._replace(padding="valid") if step.strides > 1 else step for step in branch)
            for branch in MIXED_7A
        )
    return RegionChain(_behind_block17(module, settings), channels=LAST.channels, name=name)


def default_settings(generation: Generation = "tf2") -> LayerSettings:
    """Give what the convolutions share in a detector."""
    return LayerSettings(
        activation="relu",
        batch_norm=BatchNormSettings(momentum=0.9997, epsilon=1e-3, scale=False),
        kernel_initializer=keras.initializers.GlorotUniform(),
    )


class InceptionResidual(Block):
    """Run branches side by side, bring them to the input's channels, add a share of that to it."""

    def __init__(
        self,
        branches: Sequence[Sequence[Step]],
        *,
        channels: int,
        scale: float,
        has_activation: bool = True,
        settings: LayerSettings,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.branches = parallel_branches(branches, settings)
        self.joined = Convolution(
            channels,
            1,
            settings=settings,
            has_batch_norm=False,
            has_activation=False,
            name="Conv2d_1x1",
        )
        self.scale = scale
        self.activation = keras.activations.get(settings.activation if has_activation else None)

    @property
    def keras_order(self) -> list[layers.Layer]:
        """The order of TF2 checkpoints, which is by distance from the network's output."""
        return [*keras_order_of(self.branches), self.joined]

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        outputs = [branch(inputs, training=training) for branch in self.branches]
        residual = self.joined(ops.concatenate(outputs, axis=-1), training=training)
        return self.activation(inputs + residual * self.scale)


def _behind_block17(
    mixed_7a: Sequence[Sequence[Step]], settings: LayerSettings
) -> list[layers.Layer]:
    end = InceptionResidual(
        BLOCK8, channels=2080, scale=1.0, has_activation=False, settings=settings, name="Block8"
    )
    return [
        InceptionModule(mixed_7a, settings=settings, name="Mixed_7a"),
        *_repeated("block8", BLOCK8, 9, 2080, 0.2, settings),
        end,
        step_layer(LAST, settings),
    ]


def _repeated(
    name: str,
    branches: Sequence[Sequence[Step]],
    count: int,
    channels: int,
    scale: float,
    settings: LayerSettings,
) -> list[layers.Layer]:
    return [
        InceptionResidual(
            branches, channels=channels, scale=scale, settings=settings, name=f"{name}_{number}"
        )
        for number in range(1, count + 1)
    ]


def _changed(branches: Sequence[Branch], **changes: Any) -> tuple[Branch, ...]:
    return tuple(tuple(step._replace(**changes) for step in branch) for branch in branches)
