"""Inception V2 cut in two: modules 3 and 4 see the image, modules 5 each of its regions."""

from __future__ import annotations

import keras

from holdfast.models.backbones.backbone import Backbone
from holdfast.models.backbones.generation import Generation
from holdfast.models.backbones.inception_v2 import MODULES, InceptionModule, inception_v2
from holdfast.models.backbones.region_chain import RegionChain
from holdfast.models.layers.batch_norm import BatchNormSettings
from holdfast.models.layers.convolution import LayerSettings


def inception_v2_of_images(
    *,
    settings: LayerSettings,
    generation: Generation,
    stride: int = 16,
    name: str = "backbone",
) -> Backbone:
    """Make the part up to Mixed_4e; its stride is 16, whatever is asked for, as in the OD API."""
    return inception_v2(("Mixed_4e",), settings=settings, name=name)


def inception_v2_of_regions(
    *, settings: LayerSettings, generation: Generation, name: str = "region_extractor"
) -> RegionChain:
    """Make Mixed_5a, which halves regions, to Mixed_5c."""
    modules = [
        InceptionModule(branches, settings=settings, name=module)
        for module, branches in MODULES.items()
        if module.startswith("Mixed_5")
    ]
    return RegionChain(modules, channels=1024, name=name)


def settings_of_regions(generation: Generation = "tf1") -> LayerSettings:
    """Give what the convolutions share in a detector of two stages."""
    return LayerSettings(
        activation="relu",
        batch_norm=BatchNormSettings(momentum=0.9997, epsilon=1e-3),
        kernel_initializer=keras.initializers.GlorotUniform(),
    )
