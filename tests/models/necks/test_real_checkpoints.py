"""Necks that no golden has: their variables are those of published checkpoints."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from holdfast.models.features import Feature
from holdfast.models.layers.convolution import LayerSettings
from holdfast.models.necks.fpn import Fpn
from holdfast.models.necks.ssd_layers import SsdLayers

from .golden import names_of, shapes_of
from .legacy_names import tf1_fpn_name, tf1_ssd_name
from .parts import maps
from .real_checkpoint import variables_below

SETTINGS = LayerSettings()


@pytest.mark.parametrize(
    ("number", "channels", "scope", "endpoint", "use_depthwise"),
    [
        (3, (576, 1280), "MobilenetV2", "layer_19", True),
        (18, (672, 480), "MobilenetV3", "layer_17", True),
        (28, (512, 1024), "MobilenetV1", "Conv2d_13_pointwise", False),
    ],
)
def test_extra_layers_of_ssd_and_ssdlite(
    corpus: Path,
    number: int,
    channels: tuple[int, int],
    scope: str,
    endpoint: str,
    use_depthwise: bool,
):
    features = tuple(Feature(16 * 2**index, count) for index, count in enumerate(channels))
    neck = SsdLayers(features, settings=SETTINGS, use_depthwise=use_depthwise, name="neck")
    neck(maps(32, 32, features, batch=1))
    prefix = f"FeatureExtractor/{scope}/"
    names = names_of(neck, prefix, partial(tf1_ssd_name, neck, endpoint=endpoint))
    below = tuple(f"{prefix}{endpoint}_{part}_Conv2d" for part in (1, 2))
    assert shapes_of(names) == variables_below(corpus, number, below)


def test_pyramid_of_tf1(corpus: Path):
    features = (Feature(8, 256), Feature(16, 512), Feature(32, 1024))
    neck = Fpn(
        features,
        depth=256,
        num_coarse_levels=2,
        upsamples_smoothed=False,
        settings=SETTINGS,
        name="neck",
    )
    neck(maps(32, 32, features, batch=1))
    prefix = "FeatureExtractor/MobilenetV1/fpn/"
    name_of = partial(tf1_fpn_name, neck, coarse="bottom_up_Conv2d_", num_before=13)
    assert shapes_of(names_of(neck, prefix, name_of)) == variables_below(corpus, 40, (prefix,))
