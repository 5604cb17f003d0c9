"""Small heads, and features to feed them."""

from __future__ import annotations

from collections.abc import Callable

import keras

from holdfast.models.features import Feature
from holdfast.models.heads.convolutional import ConvolutionalHead
from holdfast.models.heads.weight_shared import WeightSharedHead
from holdfast.models.layers.convolution import LayerSettings

SETTINGS = LayerSettings(l2=0.5)
FEATURES = (Feature(16, 4), Feature(32, 4))


def convolutional(**keywords: object) -> ConvolutionalHead:
    options = {
        "features": FEATURES,
        "anchors_per_location": (3, 6),
        "num_class_slots": 5,
        "settings": SETTINGS,
        "name": "head",
    }
    return ConvolutionalHead(**(options | keywords))


def weight_shared(**keywords: object) -> WeightSharedHead:
    options = {
        "features": FEATURES,
        "anchors_per_location": (3, 3),
        "num_class_slots": 5,
        "depth": 6,
        "num_layers_before_predictor": 2,
        "settings": SETTINGS,
        "name": "head",
    }
    return WeightSharedHead(**(options | keywords))


HEADS: dict[str, Callable[[], keras.layers.Layer]] = {
    "ssd": lambda: convolutional(num_layers_before_predictor=1, max_depth=3, dropout_rate=0.2),
    "ssdlite": lambda: convolutional(kernel_size=3, use_depthwise=True),
    "retina": lambda: weight_shared(dropout_rate=0.2),
    "fpnlite": lambda: weight_shared(use_depthwise=True, share_prediction_tower=True),
}
