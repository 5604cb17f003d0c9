from __future__ import annotations

from holdfast.config.facts.backbone_sizes import _SIZES, backbone_sizes
from holdfast.config.facts.extractors import OD_API_EXTRACTORS


def test_every_row_is_of_a_backbone_of_the_od_api():
    assert set(_SIZES) <= {each.backbone for each in OD_API_EXTRACTORS.values()}


def test_a_backbone_of_ones_own_halves_its_input_as_usual():
    assert backbone_sizes("my_own") == backbone_sizes("inception_v2")


def test_all_resnets_of_the_first_version_and_all_mobilenets_are_alike():
    resnets = {f"resnet{depth}_v1" for depth in (50, 101, 152)}
    assert {backbone_sizes(name) for name in resnets} == {backbone_sizes("resnet50_v1")}
    mobile = {each.backbone for each in OD_API_EXTRACTORS.values() if "mobilenet" in each.backbone}
    assert all(backbone_sizes(name).crops for name in mobile)
