"""ResNet V1 cut in two: blocks 1 to 3 see the image, block 4 each of its regions."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.models.backbones.backbone import Backbone, Endpoint
from holdfast.models.backbones.generation import Generation
from holdfast.models.backbones.region_chain import RegionChain
from holdfast.models.backbones.resnet_v1 import UNITS, Bottleneck, resnet_v1, stem
from holdfast.models.features import Feature
from holdfast.models.layers.convolution import LayerSettings


def resnet_v1_of_images(
    depth: int,
    *,
    settings: LayerSettings,
    generation: Generation,
    stride: int = 16,
    name: str = "backbone",
) -> Backbone:
    """Make the part up to block3.

    tf1: the last unit of a block takes its stride, so that a block sees finer maps than in tf2;
    at stride 8 the units behind it are dilated instead. tf2 has stride 16 only.
    """
    if generation == "tf2":
        return resnet_v1(("block3",), depth=depth, settings=settings, name=name)
    blocks = [*stem(64, settings), *_tf1_units(UNITS[depth][:3], settings, stride)]
    end = Endpoint("block3", blocks[-1].name, Feature(stride, 1024))
    return Backbone(blocks, [end], ["block3"], keras_is_bgr=True, name=name)


def resnet_v1_of_regions(
    *, settings: LayerSettings, generation: Generation, name: str = "region_extractor"
) -> RegionChain:
    """Make block4, for regions of 1024 channels; only tf2 halves them."""
    units = [
        Bottleneck(
            512,
            2048,
            settings=settings,
            strides=2 if generation == "tf2" and unit == 1 else 1,
            has_projection=unit == 1,
            name=f"block4_unit_{unit}",
        )
        for unit in (1, 2, 3)
    ]
    return RegionChain(units, channels=2048, name=name)


def _tf1_units(
    counts: tuple[int, ...], settings: LayerSettings, stride: int
) -> Iterator[Bottleneck]:
    reached, dilation = 4, 1
    for block, count in enumerate(counts, start=1):
        for unit in range(1, count + 1):
            strides = 2 if unit == count and reached < stride else 1
            yield Bottleneck(
                32 * 2**block,
                128 * 2**block,
                settings=settings,
                strides=strides,
                strides_late=True,
                dilation=dilation,
                has_projection=unit == 1,
                name=f"block{block}_unit_{unit}",
            )
        if reached < stride:
            reached *= 2
        else:
            dilation *= 2
