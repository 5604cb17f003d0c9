"""Necks of users' own; those of the OD API are built from config fields of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import keras

from holdfast.models.backbones.backbone_spec import add_extractor
from holdfast.registry import Registry

# (features, *, depth, num_coarse_levels, settings, name) -> a layer with `features`
NeckFactory = Callable[..., keras.layers.Layer]

NECKS: Registry[NeckFactory] = Registry("neck")


def neck(name: str, *, extractors: Mapping[str, str]) -> Callable[[NeckFactory], NeckFactory]:
    """Register the decorated factory, or class, as a neck.

    It is called with the backbone's features (a sequence of Feature) and, as keywords, with depth
    (fpn.additional_layer_depth), num_coarse_levels (how many more maps to add, each of half the
    size), settings (conv_hyperparams) and name. What it makes is called with the feature maps and
    `training`, returns a list of maps, finest first, and says in `features` what they are.

    extractors: names that `feature_extractor.type` may have in a config -> the backbone under the
    neck. Its levels are those of `fpn { min_level … max_level … }`.
    """

    def add(factory: NeckFactory) -> NeckFactory:
        NECKS.register(name, factory)(factory)
        for extractor_name, backbone_name in extractors.items():
            add_extractor(extractor_name, backbone_name, name, factory)
        return factory

    return add
