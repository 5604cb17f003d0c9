"""Heads that no golden has: their variables are those of published checkpoints."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from holdfast.models.features import Feature
from holdfast.models.heads.convolutional import ConvolutionalHead
from holdfast.models.heads.weight_shared import WeightSharedHead
from holdfast.models.layers.convolution import LayerSettings

from ..necks.golden import names_of, shapes_of
from ..necks.real_checkpoint import variables_below
from .legacy_names import tf1_convolutional_name, tf1_weight_shared_name

SETTINGS = LayerSettings()


def cells(features: tuple[Feature, ...]) -> list[np.ndarray]:
    return [np.zeros((1, 1, 1, channels), np.float32) for _, channels in features]


@pytest.mark.parametrize(
    ("number", "channels", "use_depthwise"),
    [(3, (576, 1280), True), (18, (672, 480), True), (28, (512, 1024), False)],
)
def test_predictors_of_ssd_and_ssdlite(
    corpus: Path, number: int, channels: tuple[int, int], use_depthwise: bool
):
    channels = (*channels, 512, 256, 256, 128)
    features = tuple(Feature(16 * 2**index, count) for index, count in enumerate(channels))
    head = ConvolutionalHead(
        features,
        anchors_per_location=(3, 6, 6, 6, 6, 6),
        num_class_slots=91,
        kernel_size=3 if use_depthwise else 1,
        use_depthwise=use_depthwise,
        settings=SETTINGS,
        name="head",
    )
    head(cells(features))
    names = names_of(head, "", partial(tf1_convolutional_name, head))
    assert shapes_of(names) == variables_below(corpus, number, ("BoxPredictor",))


def test_weight_shared_predictor_of_tf1(corpus: Path):
    features = tuple(Feature(8 * 2**index, 256) for index in range(5))
    head = WeightSharedHead(
        features,
        anchors_per_location=(6,) * 5,
        num_class_slots=91,
        depth=256,
        num_layers_before_predictor=4,
        settings=SETTINGS,
        name="head",
    )
    head(cells(features))
    prefix = "WeightSharedConvolutionalBoxPredictor/"
    names = names_of(head, prefix, partial(tf1_weight_shared_name, head))
    assert shapes_of(names) == variables_below(corpus, 40, (prefix,))
