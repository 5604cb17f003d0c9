"""A network in two parts that is small in every respect, to stand in for a published one."""

from __future__ import annotations

from dataclasses import replace

from holdfast.models.backbones.backbone import Backbone, Endpoint
from holdfast.models.backbones.region_chain import RegionChain
from holdfast.models.backbones.resnet_v1 import Bottleneck, default_settings, stem
from holdfast.models.backbones.split_networks import SplitNetwork
from holdfast.models.features import Feature


def _settings(generation):
    settings = default_settings("tf2")
    return replace(settings, batch_norm=replace(settings.batch_norm, momentum=0.9))


def _of_images(*, settings, generation, stride=16, name="backbone"):
    units = [
        Bottleneck(4, 16, settings=settings, strides=2, has_projection=True, name=f"unit_{number}")
        for number in (1, 2)
    ]
    # 16 channels at least before a 1 x 1 convolution of stride 2: of fewer, and one image, oneDNN's
    # kernel for the filter's gradient writes past its memory where there is AVX-512.
    end = Endpoint("last", "unit_2", Feature(16, 16))
    return Backbone([*stem(16, settings), *units], [end], ["last"], name=name)


def _of_regions(*, settings, generation, name="region_extractor"):
    unit = Bottleneck(8, 32, settings=settings, strides=1, has_projection=True, name="unit_3")
    return RegionChain([unit], channels=32, name=name)


TINY = SplitNetwork(of_images=_of_images, of_regions=_of_regions, settings=_settings)
