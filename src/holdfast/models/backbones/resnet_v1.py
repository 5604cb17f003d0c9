"""ResNet V1 (arXiv 1512.03385): 50, 101 and 152 layers of bottleneck units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import keras

from holdfast.geometry.tensor import Tensor
from holdfast.models.backbones.backbone import Backbone, Endpoint
from holdfast.models.backbones.backbone_spec import SlimNames, backbone
from holdfast.models.backbones.channels import scaled
from holdfast.models.backbones.generation import Generation
from holdfast.models.backbones.normalization import MINUS_MEAN
from holdfast.models.features import Feature
from holdfast.models.layers.batch_norm import BatchNormSettings
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import Convolution, LayerSettings
from holdfast.models.layers.quantized_convolution import activation_quantizer

# Depth of the network -> units in each of its four blocks.
UNITS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


def resnet_v1(
    endpoints: Sequence[str],
    *,
    depth: int = 50,
    settings: LayerSettings | None = None,
    depth_multiplier: float = 1.0,
    min_depth: int = 8,
    generation: Generation = "tf2",
    name: str = "backbone",
) -> Backbone:
    """Make the network; its endpoints are block1 to block4, of stride 4, 8, 16 and 32.

    generation: the OD API's halves differ in what `settings` reach and in what depth_multiplier and
    min_depth do. tf2: the activation also ends each unit, and every convolution is multiplied.
    tf1: units end in ReLU, batch norm keeps the network's own epsilon, momentum and scale, and only
    the inner width of units is multiplied.
    """
    settings = settings or default_settings(generation)
    if generation == "tf1":
        settings = replace(settings, batch_norm=_own_batch_norm(settings.batch_norm))
    widths = _Widths(depth_multiplier=depth_multiplier, minimum=min_depth, generation=generation)
    first = stem(widths.stem, settings, use_bias=_use_bias(settings, generation))
    units = list(_units(UNITS[depth], widths, settings))
    known = [
        Endpoint(
            f"block{block}",
            f"block{block}_unit_{count}",
            Feature(stride=2 ** (block + 1), channels=widths.outer(block)),
        )
        for block, count in enumerate(UNITS[depth], start=1)
    ]
    return Backbone([*first, *units], known, endpoints, keras_is_bgr=True, name=name)


_smaller = None
for _depth in UNITS:
    backbone(
        f"resnet{_depth}_v1",
        levels={level: f"block{level - 1}" for level in (2, 3, 4, 5)},
        normalization=MINUS_MEAN,
        has_own_settings=True,
        has_light_pyramid=False,
        slim=SlimNames(
            scope=f"resnet_v1_{_depth}",
            coarse_scope="block",
            first_coarse=5,
            units=((r"^(block\d+)_(unit_\d+)/", r"\1/\2/bottleneck_v1/"),),
        ),
        is_numbered=True,
        smaller=_smaller,
    )(partial(resnet_v1, depth=_depth))
    _smaller = f"resnet{_depth}_v1"


def default_settings(generation: Generation = "tf2") -> LayerSettings:
    """Give what the convolutions share unless a config overrides it."""
    is_tf1 = generation == "tf1"
    return LayerSettings(
        activation="relu",
        batch_norm=_own_batch_norm(BatchNormSettings()),
        kernel_initializer=keras.initializers.VarianceScaling(
            scale=2.0 if is_tf1 else 1.0, mode="fan_in"
        ),
        # Both say 0.0001, but only TF1 halves the sum of squares.
        l2=0.0001 if is_tf1 else 0.0002,
    )


def stem(
    channels: int, settings: LayerSettings, *, use_bias: bool = False
) -> list[keras.layers.Layer]:
    """Make what comes before the first block and takes a stride of 4."""
    return [
        Convolution(
            channels,
            7,
            settings=settings,
            strides=2,
            padding="explicit",
            use_bias=use_bias,
            name="conv1",
        ),
        keras.layers.MaxPooling2D(3, strides=2, padding="same", name="pool1"),
    ]


class Bottleneck(Block):
    """Add to the input what a 1x1, a 3x3 and a 1x1 convolution make of it.

    A stride is taken by the first convolution. The OD API's TF1 networks for a single stage drop
    every other cell between blocks instead, which leaves the same cells; those for two stages take
    it in the 3x3 convolution, strides_late. dilation is the 3x3 convolution's.
    """

    def __init__(
        self,
        width: int,
        channels: int,
        *,
        settings: LayerSettings,
        strides: int = 1,
        strides_late: bool = False,
        dilation: int = 1,
        has_projection: bool = False,
        output_activation: str | None = "relu",
        use_bias: bool = False,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        make = partial(Convolution, settings=settings, use_bias=use_bias)
        early, late = (1, strides) if strides_late else (strides, 1)
        self.conv1 = make(width, 1, strides=early, name="conv1")
        self.conv2 = make(
            width,
            3,
            strides=late,
            dilation=dilation,
            padding="explicit" if late > 1 else "same",
            name="conv2",
        )
        self.conv3 = make(channels, 1, has_activation=False, name="conv3")
        self.shortcut = None
        if has_projection:
            self.shortcut = make(
                channels, 1, strides=strides, has_activation=False, name="shortcut"
            )
        self.strides = strides
        self.activation = keras.activations.get(output_activation)
        self.sum_quant = activation_quantizer(output_activation, "sum_quant")

    @property
    def keras_order(self) -> list[keras.layers.Layer]:
        """The order of TF2 checkpoints, which is by distance from the network's output."""
        if self.shortcut is None:
            return [self.conv1, self.conv2, self.conv3]
        last = (self.shortcut, self.conv3)
        norms = (layer.batch_norm for layer in last if layer.batch_norm is not None)
        return [self.conv1, self.conv2, *(layer.convolution for layer in last), *norms]

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        residual = self.conv1(inputs, training=training)
        residual = self.conv2(residual, training=training)
        residual = self.conv3(residual, training=training)
        outputs = self._carried(inputs, training) + residual
        if self.sum_quant is not None:
            return self.sum_quant(outputs, training=training)
        return self.activation(outputs)

    def _carried(self, inputs: Tensor, training: bool) -> Tensor:
        if self.shortcut is not None:
            return self.shortcut(inputs, training=training)
        return inputs[:, :: self.strides, :: self.strides] if self.strides > 1 else inputs


@dataclass(frozen=True, kw_only=True)
class _Widths:
    """How many channels the convolutions have."""

    depth_multiplier: float
    minimum: int
    generation: Generation

    @property
    def stem(self) -> int:
        return 64 if self.generation == "tf1" else self._scaled(64)

    def inner(self, block: int) -> int:
        return self._scaled(32 * 2**block)

    def outer(self, block: int) -> int:
        if self.generation == "tf1":
            return 4 * self.inner(block)
        return self._scaled(4 * 32 * 2**block)

    def _scaled(self, channels: int) -> int:
        return scaled(channels, self.depth_multiplier, self.minimum)


def _units(
    counts: Sequence[int], widths: _Widths, settings: LayerSettings
) -> Iterator[keras.layers.Layer]:
    is_tf1 = widths.generation == "tf1"
    before = widths.stem
    for block, count in enumerate(counts, start=1):
        channels = widths.outer(block)
        for unit in range(1, count + 1):
            is_first = unit == 1
            yield Bottleneck(
                widths.inner(block),
                channels,
                settings=settings,
                strides=2 if is_first and block > 1 else 1,
                has_projection=before != channels if is_tf1 else is_first,
                output_activation="relu" if is_tf1 else settings.activation,
                use_bias=_use_bias(settings, widths.generation),
                name=f"block{block}_unit_{unit}",
            )
            before = channels


def _use_bias(settings: LayerSettings, generation: Generation) -> bool:
    return generation == "tf1" and settings.batch_norm is None


def _own_batch_norm(settings: BatchNormSettings | None) -> BatchNormSettings | None:
    return settings and replace(settings, momentum=0.997, epsilon=1e-5, scale=True)
