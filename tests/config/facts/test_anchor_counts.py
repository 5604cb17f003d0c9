import json
from pathlib import Path

import pytest

from holdfast.config.facts.anchor_counts import (
    AnchorMismatch,
    anchor_layers,
    anchor_mismatch,
    anchors_per_location,
)
from holdfast.config.facts.feature_maps import FeatureMap
from holdfast.config.schema.anchor_generator import AnchorGenerator
from holdfast.config.text.decode import decode

from ..detection_models import FPN_ANCHORS, SSD_ANCHORS, center_net, faster_rcnn, ssd


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ssd_anchor_generator { }", [3, 1, 1, 1, 1, 1]),
        ("ssd_anchor_generator { num_layers: 2 aspect_ratios: [1, 2] }", [3, 3]),
        ("ssd_anchor_generator { num_layers: 3 scales: [0.1, 0.5] aspect_ratios: 1 }", [3, 2]),
        ("ssd_anchor_generator { num_layers: 1 reduce_boxes_in_lowest_layer: false }", [1]),
        ("multiscale_anchor_generator { min_level: 4 max_level: 5 aspect_ratios: 1 }", [2, 2]),
        ("multiscale_anchor_generator { min_level: 4 max_level: 3 }", []),
        ("grid_anchor_generator { scales: [1, 2] aspect_ratios: [1, 2, 3] }", [6]),
        ("grid_anchor_generator { }", [0]),
        ("flexible_grid_anchor_generator { anchor_grid { base_sizes: [1, 2] } }", [2]),
        ("", []),
    ],
)
def test_anchors_per_location_follow_the_generator(text: str, expected: list[int]):
    generator, _, _ = decode(text, AnchorGenerator)
    layers = range(anchor_layers(generator))
    assert [anchors_per_location(generator, layer) for layer in layers] == expected
    assert anchors_per_location(generator, len(layers)) == 0


def test_unit_goldens_have_as_many_anchors(shared: Path):
    cases = json.loads((shared / "goldens/_units/anchors_cases.json").read_text())
    assert cases
    for name, case in cases.items():
        generator, problems, _ = decode(case["config"], AnchorGenerator)
        assert not problems
        counts = [anchors_per_location(generator, n) for n in range(anchor_layers(generator))]
        assert counts == case["anchors_per_location"], name
        maps = zip(case["feature_map_shapes"], counts, strict=True)
        per_map = [FeatureMap(0, *shape, count).anchors for shape, count in maps]
        assert per_map == case["anchors_per_map"], name


def test_a_generator_with_another_number_of_layers_is_refused():
    mismatch = anchor_mismatch(ssd("ssd_mobilenet_v2", "num_layers: 5", SSD_ANCHORS % 6))
    assert mismatch == AnchorMismatch((4, 5, 6, 7, 8), 6, None)
    assert not mismatch.trains


def test_a_shifted_pyramid_trains_with_misplaced_anchors():
    mismatch = anchor_mismatch(
        ssd("ssd_resnet50_v1_fpn", "fpn { min_level: 2 max_level: 6 }", FPN_ANCHORS)
    )
    assert mismatch == AnchorMismatch((2, 3, 4, 5, 6), 5, (8, 8))
    assert mismatch.trains


def test_the_grid_must_have_the_stride_of_the_first_stage():
    strides = "height_stride: %d width_stride: 8"
    grid = f"first_stage_anchor_generator {{ grid_anchor_generator {{ {strides} }} }}"
    dilated = "first_stage_features_stride: 8"
    assert anchor_mismatch(faster_rcnn("faster_rcnn_resnet50", dilated, grid % 8)) is None
    mismatch = anchor_mismatch(faster_rcnn("faster_rcnn_resnet50", dilated, grid % 16))
    assert mismatch == AnchorMismatch((3,), 1, (16, 8))


def test_a_pyramid_without_levels_does_not_fit_any_generator():
    detector = ssd("ssd_resnet50_v1_fpn", "fpn { min_level: 7 max_level: 3 }", FPN_ANCHORS)
    assert anchor_mismatch(detector) == AnchorMismatch((), 5, (8, 8))


def test_what_fits_or_cannot_be_compared_is_no_mismatch():
    assert anchor_mismatch(ssd("ssd_mobilenet_v2", rest=SSD_ANCHORS % 6)) is None
    assert anchor_mismatch(ssd("ssd_mobilenet_v2_fpn", rest=FPN_ANCHORS)) is None
    assert anchor_mismatch(ssd("ssd_mobilenet_v2")) is None
    assert anchor_mismatch(ssd("ssd_mobilenet_v9", rest=SSD_ANCHORS % 5)) is None
    assert anchor_mismatch(center_net("hourglass_104")) is None
