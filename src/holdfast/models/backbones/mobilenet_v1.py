"""MobileNet V1: depthwise and pointwise convolutions by turns (arXiv:1704.04861)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

from holdfast.geometry.tensor import Tensor
from holdfast.models.backbones import mobile_settings
from holdfast.models.backbones.backbone import Backbone, Endpoint
from holdfast.models.backbones.backbone_spec import SlimNames, backbone
from holdfast.models.backbones.channels import scaled
from holdfast.models.backbones.generation import Generation
from holdfast.models.features import Feature
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import Convolution, LayerSettings, Padding

# Table 1 of the paper: (strides, channels) of Conv2d_1 .. Conv2d_13, after Conv2d_0.
FIRST_CHANNELS = 32
PAIRS = [
    *[(1, 64), (2, 128), (1, 128), (2, 256), (1, 256), (2, 512)],
    *[(1, 512)] * 5,
    *[(2, 1024), (1, 1024)],
]


@backbone(
    "mobilenet_v1",
    levels={
        2: "Conv2d_3_pointwise",
        3: "Conv2d_5_pointwise",
        4: "Conv2d_11_pointwise",
        5: "Conv2d_13_pointwise",
    },
    has_own_settings=True,
    narrow_end={"tf1": (512, 256), "tf2": (512, 256)},
    slim=SlimNames(
        scope="MobilenetV1",
        last_endpoint="Conv2d_13_pointwise",
        coarse_scope="Conv2d_",
        first_coarse=14,
        units=((r"^(Conv2d_\d+)/(depthwise|pointwise)$", r"\1_\2"),),
    ),
    is_numbered=True,
)
def mobilenet_v1(
    endpoints: Sequence[str],
    *,
    settings: LayerSettings | None = None,
    generation: Generation = "tf2",
    depth_multiplier: float = 1.0,
    min_depth: int = 16,
    last_channels: tuple[int, int] | None = None,
    explicit_padding: bool = False,
    name: str = "backbone",
) -> Backbone:
    """Build MobileNet V1 with the endpoints Conv2d_0 and Conv2d_1_pointwise .. Conv2d_13_pointwise.

    last_channels: of Conv2d_12 and Conv2d_13 in place of 1024; the OD API's FPNLite has (512, 256).
    """
    settings = settings or default_settings()
    padding: Padding = "explicit" if explicit_padding else "same"
    # The Keras half never adds a bias, not even without batch norm.
    use_bias = generation == "tf1" and settings.batch_norm is None
    first, *widths = _widths(generation, depth_multiplier, min_depth, last_channels)
    blocks: list[keras.layers.Layer] = [
        Convolution(
            first,
            3,
            strides=2,
            padding=padding,
            settings=settings,
            use_bias=use_bias,
            name="Conv2d_0",
        )
    ]
    known = [Endpoint("Conv2d_0", "Conv2d_0", Feature(2, first))]
    stride = 2
    for index, ((strides, _), width) in enumerate(zip(PAIRS, widths, strict=True), start=1):
        pair = DepthwisePointwise(
            width,
            strides=strides,
            padding=padding,
            settings=settings,
            use_bias=use_bias,
            name=f"Conv2d_{index}",
        )
        blocks.append(pair)
        stride *= strides
        known.append(Endpoint(f"{pair.name}_pointwise", pair.name, Feature(stride, width)))
    return Backbone(blocks, known, endpoints, name=name)


def default_settings() -> LayerSettings:
    """Make the settings that both halves of the OD API give the network by themselves."""
    return mobile_settings.default_settings()


class DepthwisePointwise(Block):
    """Filter each channel by 3x3, then mix the channels; both with normalization and activation."""

    def __init__(
        self,
        channels: int,
        *,
        strides: int,
        padding: Padding,
        settings: LayerSettings,
        use_bias: bool,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.depthwise = Convolution(
            None,
            3,
            kind="depthwise",
            strides=strides,
            padding=padding,
            settings=settings,
            use_bias=use_bias,
            name="depthwise",
        )
        self.pointwise = Convolution(
            channels, 1, settings=settings, use_bias=use_bias, name="pointwise"
        )

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        return self.pointwise(self.depthwise(inputs, training=training), training=training)


def _widths(
    generation: Generation,
    multiplier: float,
    minimum: int,
    last_channels: tuple[int, int] | None,
) -> list[int]:
    """Give the channels of Conv2d_0 .. Conv2d_13."""
    full = [FIRST_CHANNELS, *(channels for _, channels in PAIRS)]
    if generation == "tf2":
        # The Keras half multiplies twice: in the Keras application and in its own layers. Only the
        # channels that it puts in place of the application's are multiplied once.
        full = [scaled(channels, multiplier, 0) for channels in full]
    if last_channels is not None:
        full[-2:] = last_channels
    return [scaled(channels, multiplier, minimum) for channels in full]
