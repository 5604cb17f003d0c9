"""What sees the regions of a feature pyramid, whose backbone has no part left for them."""

from __future__ import annotations

from dataclasses import replace

import keras

from holdfast.models.backbones.region_chain import RegionChain
from holdfast.models.layers.convolution import LayerSettings
from holdfast.models.layers.fully_connected import FullyConnected

UNITS = 1024


def dense_regions(settings: LayerSettings, *, name: str = "region_extractor") -> RegionChain:
    """Make two fully connected layers, (R, h, w, C) -> (R, 1, 1, 1024).

    settings: their normalization is taken, and stands between the two.
    """
    first = replace(settings, kernel_initializer=keras.initializers.GlorotUniform(), l1=0.0, l2=0.0)
    if first.batch_norm is not None:
        # Keras has no fused kernel for vectors; without it the variance is not corrected.
        first = replace(first, batch_norm=replace(first.batch_norm, is_unbiased=False))
    second = replace(first, batch_norm=None)
    blocks = [
        keras.layers.Flatten(name="flat"),
        FullyConnected(UNITS, settings=first, activation="relu", name="dense_1"),
        FullyConnected(UNITS, settings=second, activation="relu", name="dense_2"),
        keras.layers.Reshape((1, 1, UNITS), name="region"),
    ]
    return RegionChain(blocks, channels=UNITS, name=name)
