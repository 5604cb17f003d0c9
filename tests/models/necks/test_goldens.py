"""Necks have the variables of the OD API's networks, and give its numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
import pytest

from holdfast.models.features import Feature
from holdfast.models.layers.convolution import LayerSettings
from holdfast.models.necks.bifpn import BiFpn
from holdfast.models.necks.fpn import Fpn
from holdfast.models.necks.ssd_layers import SsdLayers

from .golden import Golden, names_of, shapes_of
from .legacy_names import (
    tf1_ssd_name,
    tf2_bifpn_name,
    tf2_fpn_name,
    tf2_ssd_name,
)
from .parts import maps

SETTINGS = LayerSettings()
EXTRACTOR = "model/_feature_extractor/"


class Case(NamedTuple):
    golden: str
    features: tuple[Feature, ...]
    neck: Callable[[tuple[Feature, ...]], keras.layers.Layer]
    prefix: str
    below: tuple[str, ...]
    name_of: Callable[[keras.layers.Layer, str], str]


def ssd(features: tuple[Feature, ...]) -> SsdLayers:
    return SsdLayers(features, settings=SETTINGS, name="neck")


def fpn(features: tuple[Feature, ...], depth: int = 256, use_depthwise: bool = False) -> Fpn:
    return Fpn(
        features,
        depth=depth,
        num_coarse_levels=2,
        upsamples_smoothed=True,
        use_depthwise=use_depthwise,
        settings=SETTINGS,
        name="neck",
    )


def bifpn(features: tuple[Feature, ...]) -> BiFpn:
    settings = LayerSettings(activation="silu", forces_bias=True)
    return BiFpn(
        features, depth=64, num_coarse_levels=2, num_iterations=3, settings=settings, name="neck"
    )


def pyramid_features(*channels: int) -> tuple[Feature, ...]:
    return tuple(Feature(8 * 2**index, count) for index, count in enumerate(channels))


def fpn_case(golden: str, channels: tuple[int, ...], **keywords: int) -> Case:
    below = (EXTRACTOR + "_fpn_features_generator", EXTRACTOR + "_coarse_feature_layers")
    neck = partial(fpn, **keywords)
    return Case(golden, pyramid_features(*channels), neck, EXTRACTOR, below, tf2_fpn_name)


def tf1_ssd_case(golden: str, channels: tuple[int, int], scope: str, endpoint: str) -> Case:
    prefix = f"FeatureExtractor/{scope}/"
    below = tuple(f"{prefix}{endpoint}_{part}_Conv2d" for part in (1, 2))
    features = (Feature(16, channels[0]), Feature(32, channels[1]))
    return Case(golden, features, ssd, prefix, below, partial(tf1_ssd_name, endpoint=endpoint))


CASES = [
    Case(
        "ssd_mobilenet_v2_320x320_coco17_tpu-8",
        (Feature(16, 576), Feature(32, 1280)),
        ssd,
        EXTRACTOR + "feature_map_generator/",
        (EXTRACTOR + "feature_map_generator/",),
        tf2_ssd_name,
    ),
    tf1_ssd_case("ssd_inception_v2_coco", (576, 1024), "InceptionV2", "Mixed_5c"),
    tf1_ssd_case("ssd_mobilenet_v2_coco", (576, 1280), "MobilenetV2", "layer_19"),
    fpn_case(
        "ssd_mobilenet_v2_fpnlite_320x320_coco17_tpu-8",
        (32, 96, 1280),
        depth=128,
        use_depthwise=True,
    ),
    fpn_case("ssd_mobilenet_v1_fpn_640x640_coco17_tpu-8", (256, 512, 1024)),
    fpn_case("ssd_resnet50_v1_fpn_640x640_coco17_tpu-8", (512, 1024, 2048)),
    Case(
        "ssd_efficientdet_d0_512x512_coco17_tpu-8",
        pyramid_features(40, 112, 320),
        bifpn,
        EXTRACTOR + "_bifpn_stage/",
        (EXTRACTOR + "_bifpn_stage/",),
        tf2_bifpn_name,
    ),
]


def built(case: Case) -> tuple[keras.layers.Layer, dict[str, keras.Variable]]:
    neck = case.neck(case.features)
    neck(maps(32, 32, case.features, batch=1))
    return neck, names_of(neck, case.prefix, partial(case.name_of, neck))


@pytest.mark.parametrize("case", CASES, ids=[case.golden for case in CASES])
def test_variables_are_those_of_the_od_api(shared: Path, case: Case):
    golden = Golden(shared, case.golden)
    _, names = built(case)
    assert shapes_of(names) == golden.variables_below(case.below)


@pytest.mark.parametrize("case", CASES[:2], ids=[case.golden for case in CASES[:2]])
def test_ssd_layers_make_each_map_from_the_one_before(shared: Path, case: Case):
    golden = Golden(shared, case.golden)
    neck, names = built(case)
    golden.load(names)
    third, fourth, fifth = (golden.prediction(f"feature_maps__{index}") for index in (3, 4, 5))
    for block, before, after in ((2, third, fourth), (3, fourth, fifth)):
        actual = neck.blocks[block](before.whole())
        np.testing.assert_allclose(actual, after.whole(), atol=1e-4)


def test_coarse_levels_of_fpnlite_follow_from_the_one_before(shared: Path):
    golden = Golden(shared, CASES[3].golden)
    neck, names = built(CASES[3])
    golden.load(names)
    sixth, seventh = (golden.prediction(f"feature_maps__{index}").whole() for index in (3, 4))
    np.testing.assert_allclose(neck.coarse[1](sixth), seventh, atol=1e-4)
