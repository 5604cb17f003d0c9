"""Small necks, and features to feed them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import keras
import numpy as np

from holdfast.models.features import Feature
from holdfast.models.layers.convolution import LayerSettings
from holdfast.models.necks.bifpn import BiFpn
from holdfast.models.necks.fpn import Fpn
from holdfast.models.necks.ssd_layers import SsdLayers

SETTINGS = LayerSettings(l2=0.5)
FEATURES = (Feature(8, 3), Feature(16, 4), Feature(32, 5))


def ssd_layers(**keywords: object) -> SsdLayers:
    options = {"depths": (6, 4), "min_depth": 1} | keywords
    return SsdLayers(FEATURES, settings=SETTINGS, name="neck", **options)


def fpn(**keywords: object) -> Fpn:
    options = {"depth": 6, "num_coarse_levels": 2, "upsamples_smoothed": True} | keywords
    return Fpn(FEATURES, settings=SETTINGS, name="neck", **options)


def bifpn(**keywords: object) -> BiFpn:
    options = {"depth": 6, "num_coarse_levels": 1, "num_iterations": 1} | keywords
    return BiFpn(FEATURES, settings=SETTINGS, name="neck", **options)


NECKS: dict[str, Callable[[], keras.layers.Layer]] = {
    "ssd": ssd_layers,
    "ssdlite": lambda: ssd_layers(use_depthwise=True, padding="explicit"),
    "fpn": lambda: fpn(upsamples_smoothed=False),
    "fpnlite": lambda: fpn(use_depthwise=True),
    "bifpn": bifpn,
}


def maps(
    height: int, width: int, features: Sequence[Feature] = FEATURES, batch: int = 2
) -> list[np.ndarray]:
    """Random features of an image of that size."""
    random = np.random.default_rng(1)
    return [
        random.normal(size=(batch, -(-height // stride), -(-width // stride), channels)).astype(
            np.float32
        )
        for stride, channels in features
    ]
