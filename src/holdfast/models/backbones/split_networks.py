"""The networks that a detector of two stages cuts in two: one row says all about each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from holdfast.models.backbones import inception_resnet_v2, inception_v2_regions, resnet_v1
from holdfast.models.backbones.backbone import Backbone
from holdfast.models.backbones.generation import Generation
from holdfast.models.backbones.region_chain import RegionChain
from holdfast.models.backbones.resnet_v1_regions import resnet_v1_of_images, resnet_v1_of_regions
from holdfast.models.layers.convolution import LayerSettings


@dataclass(frozen=True, kw_only=True)
class SplitNetwork:
    """How both parts are made. Their settings are the network's own: no config changes them."""

    of_images: Callable[..., Backbone]  # (*, settings, generation, stride) -> the first part
    of_regions: Callable[..., RegionChain]  # (*, settings, generation) -> the second part
    settings: Callable[[Generation], LayerSettings]


def _resnet_settings(generation: Generation) -> LayerSettings:
    return replace(resnet_v1.default_settings(generation), l2=0.0)


SPLIT_NETWORKS: dict[str, SplitNetwork] = {
    "inception_resnet_v2": SplitNetwork(
        of_images=inception_resnet_v2.inception_resnet_v2_of_images,
        of_regions=inception_resnet_v2.inception_resnet_v2_of_regions,
        settings=inception_resnet_v2.default_settings,
    ),
    "inception_v2": SplitNetwork(
        of_images=inception_v2_regions.inception_v2_of_images,
        of_regions=inception_v2_regions.inception_v2_of_regions,
        settings=inception_v2_regions.settings_of_regions,
    ),
}
for _depth in resnet_v1.UNITS:
    SPLIT_NETWORKS[f"resnet{_depth}_v1"] = SplitNetwork(
        of_images=partial(resnet_v1_of_images, _depth),
        of_regions=resnet_v1_of_regions,
        settings=_resnet_settings,
    )
