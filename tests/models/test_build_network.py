"""Networks of users' own parts are built from the config's fields."""

from __future__ import annotations

import keras
import pytest

from holdfast.config.facts.extractors import EXTRACTORS
from holdfast.config.schema.feature_pyramid import FeaturePyramidNetworks
from holdfast.config.schema.ssd import SsdFeatureExtractor
from holdfast.errors import HoldfastError
from holdfast.models.backbones.backbone import Backbone, Endpoint
from holdfast.models.backbones.backbone_spec import BACKBONES, backbone
from holdfast.models.build_network import build_network
from holdfast.models.features import Feature
from holdfast.models.layers.convolution import Convolution
from holdfast.models.necks.neck_registry import NECKS, neck

PYRAMID = FeaturePyramidNetworks(min_level=4, max_level=6, additional_layer_depth=20)


@pytest.fixture(autouse=True)
def own_parts(monkeypatch) -> dict:
    """Register a backbone of two levels and a neck; give what they were called with."""
    for table in (BACKBONES, EXTRACTORS, NECKS):
        monkeypatch.setattr(table, "_entries", dict(table._entries))
        monkeypatch.setattr(table, "_makers", dict(table._makers))
    given = {}

    @backbone(
        "small",
        levels={4: "four", 5: "five"},
        extractors={"ssd_small": "ssd_layers", "ssd_small_fpn": "fpn", "ssd_small_mine": "mine"},
    )
    def small(endpoints, *, settings, name="backbone"):
        given["settings"], given["endpoints"] = settings, endpoints
        blocks = [
            Convolution(8, 3, strides=16, settings=settings, name="four"),
            Convolution(8, 3, strides=2, settings=settings, name="five"),
        ]
        known = [Endpoint("four", "four", Feature(16, 8)), Endpoint("five", "five", Feature(32, 8))]
        return Backbone(blocks, known, endpoints, name=name)

    @neck("mine", extractors={})
    def mine(features, *, depth, num_coarse_levels, settings, name):
        given["neck"] = (features, depth, num_coarse_levels)
        return keras.layers.Identity(name=name)

    return given


def built(kind: str, **fields):
    config = SsdFeatureExtractor(type=kind, fpn=PYRAMID, **fields)
    return build_network(config, EXTRACTORS[kind])


def test_a_neck_of_ones_own_gets_the_levels_and_depth_of_fpn(own_parts):
    network = built("ssd_small_mine")
    assert own_parts["neck"] == ((Feature(16, 8), Feature(32, 8)), 20, 1)
    assert network.neck.name == "neck"


def test_necks_of_the_house_stand_on_a_backbone_of_ones_own():
    assert [each.stride for each in built("ssd_small_fpn").neck.features] == [16, 32, 64]
    layers = built("ssd_small", num_layers=4)
    assert [each.stride for each in layers.neck.features] == [16, 32, 64, 128]


def test_conv_hyperparams_always_reach_a_backbone_of_ones_own(own_parts):
    built("ssd_small_fpn")
    assert own_parts["settings"].batch_norm is None  # the config has none


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("ssd_small_fpn", {"depth_multiplier": 0.5}),
        ("ssd_small_fpn", {"use_explicit_padding": True}),
        ("ssd_small_mine", {"use_depthwise": True}),
    ],
)
def test_a_setting_that_an_own_part_would_ignore_is_refused(kind, fields):
    with pytest.raises(HoldfastError, match=f"{next(iter(fields))} is not obeyed by {kind}"):
        built(kind, **fields)


def test_a_backbone_that_nobody_registered_is_named():
    neck("other", extractors={"ssd_nothing_other": "nothing"})(lambda features: None)
    with pytest.raises(HoldfastError, match="There is no backbone 'nothing'"):
        built("ssd_nothing_other")
