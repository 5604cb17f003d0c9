"""ResNet as keras.applications has it, V1, V2 and small: with biases, and Keras' own batch norm.

CenterNet stands on these, so that ImageNet weights of Keras fit as they are. V2 (arXiv:1603.05027)
normalizes before each convolution, and takes a stride at the end of a block. So do the OD API's
networks of 18 and 34 layers, though it calls them V1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import keras
from keras import ops

from holdfast.geometry.tensor import Tensor
from holdfast.models.backbones.backbone import Backbone, Endpoint, WholeBackbone
from holdfast.models.backbones.resnet_v1 import Bottleneck
from holdfast.models.features import Feature
from holdfast.models.layers.batch_norm import BatchNormSettings, FusedBatchNorm
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import Convolution, LayerSettings

# Depth of the network -> units in each of its four blocks.
NUM_UNITS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3)}


def keras_resnet_v1(endpoints: Sequence[str], *, depth: int, name: str = "backbone") -> Backbone:
    """Make ResNet V1 with the endpoints block1 to block4, of stride 4, 8, 16 and 32."""
    settings = own_settings()
    units = [
        Bottleneck(
            64 * 2**block,
            256 * 2**block,
            settings=settings,
            strides=2 if unit == 0 and block > 0 else 1,
            has_projection=unit == 0,
            use_bias=True,
            name=f"block{block + 1}_unit_{unit + 1}",
        )
        for block, count in enumerate(NUM_UNITS[depth])
        for unit in range(count)
    ]
    known = _endpoints(depth, strides=(4, 8, 16, 32), width=4)
    blocks = [_stem(settings, is_activated=True), PaddedPool(name="pool1"), *units]
    return Backbone(blocks, known, endpoints, name=name)


def keras_resnet_v2(endpoints: Sequence[str], *, depth: int, name: str = "backbone") -> Backbone:
    """Make ResNet V2 with the endpoints block1 to block4, of stride 8, 16, 32 and 32."""
    known = _endpoints(depth, strides=(8, 16, 32, 32), width=4)
    return _preactivated(PreactivatedBottleneck, depth, known, endpoints, name)


def keras_resnet_basic(endpoints: Sequence[str], *, depth: int, name: str = "backbone") -> Backbone:
    """Make ResNet-18 or -34 with the endpoints block1 to block4, of stride 4, 8, 16 and 32."""
    known = _endpoints(depth, strides=(4, 8, 16, 32), width=1)
    return _preactivated(PreactivatedPair, depth, known, endpoints, name)


def own_settings() -> LayerSettings:
    """Give what the convolutions share."""
    return LayerSettings(
        activation="relu",
        batch_norm=BatchNormSettings(momentum=0.99, epsilon=1.001e-5),
        kernel_initializer=keras.initializers.GlorotUniform(),
    )


class PaddedPool(Block):
    """Take the largest of each 3 x 3 cells, every other one; beyond the border there are zeros."""

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        padded = ops.pad(inputs, [(0, 0), (1, 1), (1, 1), (0, 0)])
        return ops.max_pool(padded, 3, strides=2, padding="valid")


class PreactivatedBottleneck(Block):
    """Normalize and activate; add to the input what a 1x1, a 3x3 and a 1x1 convolution make of it.

    A stride is taken by the second convolution; the input keeps every other cell.
    """

    def __init__(
        self,
        width: int,
        *,
        settings: LayerSettings,
        strides: int = 1,
        has_projection: bool = False,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        convolution = partial(Convolution, settings=settings, use_bias=False)
        plain = partial(
            Convolution, 4 * width, 1, settings=settings, has_batch_norm=False, has_activation=False
        )
        self.preactivation = _norm(settings, "preactivation")
        self.conv1 = convolution(width, 1, name="conv1")
        self.conv2 = convolution(width, 3, strides=strides, padding="explicit", name="conv2")
        self.shortcut = plain(name="shortcut") if has_projection else None
        self.conv3 = plain(name="conv3")
        self.strides = strides

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        active = ops.relu(self.preactivation(inputs, training=training))
        residual = self.conv1(active, training=training)
        residual = self.conv2(residual, training=training)
        residual = self.conv3(residual, training=training)
        return _carried(self.shortcut, inputs, active, self.strides) + residual


class PreactivatedPair(Block):
    """Normalize and activate; add to the input what two 3x3 convolutions make of it.

    A stride is taken by the second convolution; the input keeps every other cell.
    """

    def __init__(
        self,
        width: int,
        *,
        settings: LayerSettings,
        strides: int = 1,
        has_projection: bool = False,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        convolution = partial(
            Convolution, width, 3, settings=settings, use_bias=False, padding="explicit"
        )
        self.preactivation = _norm(settings, "preactivation")
        self.conv1 = convolution(name="conv1")
        self.conv2 = convolution(strides=strides, name="conv2")
        self.shortcut = None
        if has_projection:
            self.shortcut = Convolution(
                width,
                1,
                settings=settings,
                has_batch_norm=False,
                has_activation=False,
                name="shortcut",
            )
        self.strides = strides

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        active = ops.relu(self.preactivation(inputs, training=training))
        residual = self.conv1(active, training=training)
        residual = self.conv2(residual, training=training)
        return _carried(self.shortcut, inputs, active, self.strides) + residual


class _Unit(NamedTuple):
    """The place of a unit."""

    name: str
    width: int
    strides: int
    has_projection: bool


def _preactivated(
    unit: type[PreactivatedBottleneck | PreactivatedPair],
    depth: int,
    known: Sequence[Endpoint],
    endpoints: Sequence[str],
    name: str,
) -> Backbone:
    settings = own_settings()
    # The strides of a block are taken by its last unit.
    strides = [known[0].feature.stride // 4]
    strides += [after.feature.stride // before.feature.stride for before, after in pairwise(known)]
    units = [
        unit(
            each.width,
            settings=settings,
            strides=each.strides,
            has_projection=each.has_projection,
            name=each.name,
        )
        for each in _units(NUM_UNITS[depth], strides)
    ]
    # The OD API's checkpoints have the norm behind the last block; nothing that is used passes it.
    last = _norm(settings, "post_norm")
    blocks = [_stem(settings, is_activated=False), PaddedPool(name="pool1"), *units, last]
    return WholeBackbone(blocks, known, endpoints, name=name)


def _units(counts: Sequence[int], strides: Sequence[int]) -> Iterator[_Unit]:
    for block, (count, stride) in enumerate(zip(counts, strides, strict=True)):
        for unit in range(count):
            is_last = unit == count - 1
            yield _Unit(
                name=f"block{block + 1}_unit_{unit + 1}",
                width=64 * 2**block,
                strides=stride if is_last else 1,
                has_projection=unit == 0,
            )


def _carried(shortcut: Convolution | None, inputs: Tensor, active: Tensor, strides: int) -> Tensor:
    if shortcut is not None:
        return shortcut(active)
    return inputs[:, ::strides, ::strides] if strides > 1 else inputs


def _endpoints(depth: int, strides: Sequence[int], width: int) -> list[Endpoint]:
    return [
        Endpoint(
            f"block{block}",
            f"block{block}_unit_{count}",
            Feature(stride=stride, channels=32 * 2**block * width),
        )
        for block, (count, stride) in enumerate(
            zip(NUM_UNITS[depth], strides, strict=True), start=1
        )
    ]


def _stem(settings: LayerSettings, *, is_activated: bool) -> Convolution:
    return Convolution(
        64,
        7,
        settings=settings,
        strides=2,
        padding="explicit",
        use_bias=True,
        has_batch_norm=is_activated,
        has_activation=is_activated,
        name="conv1",
    )


def _norm(settings: LayerSettings, name: str) -> FusedBatchNorm:
    return FusedBatchNorm(settings.batch_norm or BatchNormSettings(), name=name)
