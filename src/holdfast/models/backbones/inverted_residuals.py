"""The chain of inverted residuals that MobileNet V2 and V3 are (arXiv:1801.04381, 1905.02244)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import keras

from holdfast.geometry.tensor import Tensor
from holdfast.models.backbones.backbone import Backbone, Endpoint
from holdfast.models.backbones.squeeze_excitation import SqueezeExcitation
from holdfast.models.features import Feature
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import Convolution, LayerSettings, Padding
from holdfast.models.layers.fake_quantization import fake_quantizer, quantized


class Unit(NamedTuple):
    """The shape of one inverted residual."""

    channels: int  # of its output
    expanded: int  # of its inner activation
    has_expansion: bool  # else the input has that many already
    is_residual: bool  # adds its input to its output
    activation: str | None = "relu6"
    kernel_size: int = 3
    strides: int = 1
    squeezed: int | None = None  # channels inside its squeeze and excitation; None without


def inverted_residuals(
    endpoints: Sequence[str],
    *,
    first_channels: int,
    units: Sequence[Unit],
    last_channels: int,
    settings: LayerSettings,
    padding: Padding,
    name: str,
) -> Backbone:
    """Build a convolution of stride 2, the units, and a 1x1 convolution.

    They are the endpoints layer_1, layer_2, ...; layer_N/expansion_output is the activation inside.
    `settings` are those of all but the units' activation.
    """
    blocks: list[keras.layers.Layer] = [
        Convolution(
            first_channels,
            3,
            strides=2,
            padding=padding,
            settings=settings,
            use_bias=False,
            name="Conv",
        )
    ]
    stride = 2
    known = [Endpoint("layer_1", "Conv", Feature(stride, first_channels))]
    for index, unit in enumerate(units):
        block = f"expanded_conv_{index}" if index else "expanded_conv"
        layer = f"layer_{index + 2}"
        inner = f"{layer}/expansion_output"
        blocks.append(
            InvertedResidual(
                unit,
                settings=settings,
                padding=padding,
                returns_expansion=inner in endpoints,
                name=block,
            )
        )
        if unit.has_expansion:
            known.append(Endpoint(inner, block, Feature(stride, unit.expanded), is_inner=True))
        stride *= unit.strides
        known.append(Endpoint(layer, block, Feature(stride, unit.channels)))
    blocks.append(Convolution(last_channels, 1, settings=settings, use_bias=False, name="Conv_1"))
    known.append(Endpoint(f"layer_{len(blocks)}", "Conv_1", Feature(stride, last_channels)))
    return Backbone(blocks, known, endpoints, name=name)


class InvertedResidual(Block):
    """Expand by 1x1, filter each channel, gate the channels, project by 1x1, add the input.

    Returns its output, or (output, expanded activation) if `returns_expansion`.
    """

    def __init__(
        self,
        unit: Unit,
        *,
        settings: LayerSettings,
        padding: Padding = "same",
        returns_expansion: bool = False,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.is_residual = unit.is_residual
        self.returns_expansion = returns_expansion
        settings = replace(settings, activation=unit.activation)
        convolution = partial(Convolution, settings=settings, use_bias=False)
        self.expand = None
        if unit.has_expansion:
            self.expand = convolution(unit.expanded, 1, name="expand")
        self.depthwise = convolution(
            None,
            unit.kernel_size,
            kind="depthwise",
            strides=unit.strides,
            padding=padding,
            name="depthwise",
        )
        self.squeeze_excite = None
        if unit.squeezed is not None:
            self.squeeze_excite = SqueezeExcitation(
                unit.expanded, squeezed=unit.squeezed, settings=settings, name="squeeze_excite"
            )
        self.project = convolution(unit.channels, 1, has_activation=False, name="project")
        self.sum_quant = fake_quantizer("sum_quant") if unit.is_residual else None

    def call(self, inputs: Tensor, training: bool = False) -> Tensor | tuple[Tensor, Tensor]:
        expanded = inputs if self.expand is None else self.expand(inputs, training=training)
        filtered = self.depthwise(expanded, training=training)
        if self.squeeze_excite is not None:
            filtered = self.squeeze_excite(filtered, training=training)
        outputs = self.project(filtered, training=training)
        if self.is_residual:
            outputs = quantized(self.sum_quant, inputs + outputs, training=training)
        return (outputs, expanded) if self.returns_expansion else outputs
