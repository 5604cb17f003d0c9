"""Heads have the variables of the OD API's predictors, and give its numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
import pytest

from holdfast.models.features import Feature
from holdfast.models.heads.convolutional import ConvolutionalHead
from holdfast.models.heads.weight_shared import WeightSharedHead
from holdfast.models.layers.convolution import LayerSettings

from ..necks.golden import Golden, Stored, names_of, shapes_of
from .legacy_names import (
    tf1_convolutional_name,
    tf2_convolutional_name,
    tf2_weight_shared_name,
)


class Case(NamedTuple):
    golden: str
    head: keras.layers.Layer
    channels: tuple[int, ...]
    prefix: str
    below: tuple[str, ...]
    name_of: Callable[[keras.layers.Layer, str], str]


def ssd(golden: str, first_channels: tuple[int, int], kernel_size: int = 1) -> Case:
    channels = (*first_channels, 512, 256, 256, 128)
    head = ConvolutionalHead(
        tuple(Feature(16 * 2**index, count) for index, count in enumerate(channels)),
        anchors_per_location=(3, 6, 6, 6, 6, 6),
        num_class_slots=91,
        kernel_size=kernel_size,
        settings=LayerSettings(),
        name="head",
    )
    if golden.endswith("tpu-8"):
        prefix = "model/_box_predictor/"
        return Case(golden, head, channels, prefix, (prefix,), tf2_convolutional_name)
    return Case(golden, head, channels, "", ("BoxPredictor",), tf1_convolutional_name)


def pyramid(golden: str, depth: int, **keywords: object) -> Case:
    options = {
        "anchors_per_location": (6,) * 5,
        "num_class_slots": 91,
        "num_layers_before_predictor": 4,
        "settings": LayerSettings(),
    } | keywords
    features = tuple(Feature(8 * 2**index, depth) for index in range(5))
    head = WeightSharedHead(features, depth=depth, name="head", **options)
    prefix = "model/_box_predictor/"
    return Case(golden, head, (depth,) * 5, prefix, (prefix,), tf2_weight_shared_name)


# Made when a test asks for one: a head is not small.
CASES: list[Callable[[], Case]] = [
    partial(ssd, "ssd_mobilenet_v2_320x320_coco17_tpu-8", (576, 1280)),
    partial(ssd, "ssd_inception_v2_coco", (576, 1024), kernel_size=3),
    partial(
        pyramid,
        "ssd_mobilenet_v2_fpnlite_320x320_coco17_tpu-8",
        128,
        use_depthwise=True,
        share_prediction_tower=True,
    ),
    partial(pyramid, "ssd_resnet50_v1_fpn_640x640_coco17_tpu-8", 256),
    partial(
        pyramid,
        "ssd_efficientdet_d0_512x512_coco17_tpu-8",
        64,
        use_depthwise=True,
        anchors_per_location=(9,) * 5,
        num_class_slots=90,
        num_layers_before_predictor=3,
        settings=LayerSettings(activation="silu", forces_bias=True),
    ),
    partial(pyramid, "ssd_mobilenet_v1_fpn_640x640_coco17_tpu-8", 256),
    partial(ssd, "ssd_mobilenet_v2_coco", (576, 1280)),
]
WITH_NUMBERS = CASES[:5]


def built(case: Case) -> dict[str, keras.Variable]:
    case.head([np.zeros((1, 1, 1, count), np.float32) for count in case.channels])
    return names_of(case.head, case.prefix, partial(case.name_of, case.head))


@pytest.mark.parametrize("make_case", CASES, ids=[make.args[0] for make in CASES])
def test_variables_are_those_of_the_od_api(shared: Path, make_case: Callable[[], Case]):
    case = make_case()
    golden = Golden(shared, case.golden)
    assert shapes_of(built(case)) == golden.variables_below(case.below)


@pytest.mark.parametrize("make_case", WITH_NUMBERS, ids=[make.args[0] for make in WITH_NUMBERS])
def test_predictions_from_the_coarse_maps_are_those_of_the_od_api(
    shared: Path, make_case: Callable[[], Case]
):
    """Only coarse maps are stored whole; the others are fed as one cell of zeros each."""
    case = make_case()
    golden = Golden(shared, case.golden)
    golden.load(built(case))
    inputs, num_anchors = [], 0
    for index, count in enumerate(case.channels):
        stored = golden.prediction(f"feature_maps__{index}")
        is_whole = stored.stride == 1
        inputs.append(stored.whole() if is_whole else np.zeros((2, 1, 1, count), np.float32))
        if is_whole:
            num_anchors += stored.shape[1] * stored.shape[2] * (9 if count == 64 else 6)
    assert num_anchors > 0
    boxes, logits = case.head(inputs)
    compare_last(boxes, golden.prediction("box_encodings"), num_anchors)
    compare_last(logits, golden.prediction("class_predictions_with_background"), num_anchors)


def compare_last(actual: np.ndarray, stored: Stored, num_anchors: int) -> None:
    """Compare the stored values of the last anchors, to 1e-4 of their range."""
    actual = np.asarray(actual)[:, -num_anchors:]
    image, anchor, column = stored.places()
    anchor = anchor - (stored.shape[1] - num_anchors)
    is_last = anchor >= 0
    expected = stored.values[is_last]
    assert expected.size > 50
    np.testing.assert_allclose(
        actual[image[is_last], anchor[is_last], column[is_last]],
        expected,
        atol=1e-4 * (expected.max() - expected.min()),
    )
