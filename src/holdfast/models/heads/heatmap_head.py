"""The heads of CenterNet: one small network for each quantity on each map of the backbone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import keras

from holdfast.geometry.tensor import Tensor
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import Convolution, LayerSettings
from holdfast.models.layers.separable import Separable


@dataclass(frozen=True, kw_only=True)
class PredictionSpec:
    """What one quantity is predicted by."""

    name: str  # as in the OD API: "object_center", "box/scale", "human_pose/keypoint/heatmap"
    channels: int
    bias: float = 0.0  # that the last convolution starts with
    num_filters: tuple[int, ...] = (256,)
    kernel_sizes: tuple[int, ...] = (3,)


class HeatmapHead(Block):
    """Predict each quantity on each map: for the maps, a tuple of maps for each spec in order."""

    def __init__(
        self,
        specs: Sequence[PredictionSpec],
        *,
        num_maps: int,
        use_depthwise: bool = False,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.num_maps = num_maps
        self.nets = [
            PredictionNet(spec, use_depthwise=use_depthwise, name=net_name(spec.name, number))
            for spec in specs
            for number in range(num_maps)
        ]

    def call(
        self, features: Sequence[Tensor], training: bool = False
    ) -> tuple[tuple[Tensor, ...], ...]:
        count = self.num_maps
        outputs = [
            net(features[index % count], training=training) for index, net in enumerate(self.nets)
        ]
        return tuple(
            tuple(outputs[first : first + count]) for first in range(0, len(outputs), count)
        )


def net_name(quantity: str, number: int) -> str:
    """Name the network of a quantity on a map; a layer's name cannot hold slashes.

    >>> net_name("box/scale", 0)
    'box.scale.0'
    """
    return f"{quantity.replace('/', '.')}.{number}"


class PredictionNet(Block):
    """Convolutions with ReLU, then one of kernel size 1 without."""

    def __init__(self, spec: PredictionSpec, *, use_depthwise: bool, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.quantity = spec.name
        settings = LayerSettings(
            activation="relu",
            batch_norm=None,
            kernel_initializer=keras.initializers.GlorotUniform(),
        )
        kind = Separable if use_depthwise else Convolution
        self.hidden = [
            kind(filters, size, settings=settings, name=f"hidden_{number}")
            for number, (filters, size) in enumerate(
                zip(spec.num_filters, spec.kernel_sizes, strict=True)
            )
        ]
        self.last = Convolution(
            spec.channels,
            1,
            settings=settings,
            has_activation=False,
            bias_initializer=keras.initializers.Constant(spec.bias),
            name="last",
        )

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        current = inputs
        for layer in self.hidden:
            current = layer(current, training=training)
        return self.last(current, training=training)
