"""Anchors are those of the OD API to the last bit."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from holdfast.config.facts.anchor_counts import anchor_layers, anchors_per_location
from holdfast.config.load import load_config
from holdfast.config.schema import anchor_generator as schema
from holdfast.config.text.decode import decode
from holdfast.errors import HoldfastError
from holdfast.geometry.anchors import (
    AnchorLayer,
    FlexibleGridAnchors,
    GridAnchors,
    GridLevel,
    MultiscaleAnchors,
    SsdAnchors,
)

GENERATORS: dict[type, Any] = {
    schema.SsdAnchorGenerator: SsdAnchors,
    schema.MultiscaleAnchorGenerator: MultiscaleAnchors,
    schema.GridAnchorGenerator: GridAnchors,
}
CASES = [
    *(f"ssd_{size}" for size in (300, 512, 1024)),
    "ssd_300x600_nonsquare",
    "ssd_300_reduce_false",
    "ssd_300_no_interp",
    "ssd_300_strides",
    "ssd_explicit_scales",
    *(f"multiscale_{size}" for size in (320, 512, 640, 1024)),
    "multiscale_effdet_512",
    "multiscale_384x640_unnormalized",
    "multiscale_300_odd",
    "grid_stride16",
    "grid_stride8_38x63",
    "grid_offset",
    "flexible_grid_normalized",
    "flexible_grid_absolute",
]
DETECTORS = {
    "ssd_mobilenet_v2_320x320_coco17_tpu-8": (300, (19, 10, 5, 3, 2, 1)),
    "ssd_inception_v2_coco": (300, (19, 10, 5, 3, 2, 1)),
    "ssd_mobilenet_v2_fpnlite_320x320_coco17_tpu-8": (320, (40, 20, 10, 5, 3)),
    "ssd_resnet50_v1_fpn_640x640_coco17_tpu-8": (640, (80, 40, 20, 10, 5)),
    "ssd_efficientdet_d0_512x512_coco17_tpu-8": (512, (64, 32, 16, 8, 4)),
}


def keywords(message: Any) -> dict[str, Any]:
    return {field.name: getattr(message, field.name) for field in fields(message)}


def generator_of(config: schema.AnchorGenerator) -> AnchorLayer:
    chosen = config.chosen("anchor_generator_oneof")
    if isinstance(chosen, schema.FlexibleGridAnchorGenerator):
        grids = [GridLevel(**keywords(grid)) for grid in chosen.anchor_grid]
        return FlexibleGridAnchors(**keywords(chosen) | {"anchor_grid": grids})
    return GENERATORS[type(chosen)](**keywords(chosen))


@pytest.mark.parametrize("case", CASES)
def test_anchors_equal_the_od_api_to_the_last_bit(shared, case):
    units = shared / "goldens/_units"
    golden = json.loads((units / "anchors_cases.json").read_text())
    assert set(CASES) == set(golden)
    facts = golden[case]
    config = decode(facts["config"], schema.AnchorGenerator).message
    generator = generator_of(config)
    shapes = [tuple(shape) for shape in facts["feature_map_shapes"]]
    anchors = generator.anchors(shapes, facts["im_height"], facts["im_width"])
    assert list(generator.anchors_per_location) == facts["anchors_per_location"]
    assert [len(each) for each in anchors] == facts["anchors_per_map"]
    stride = json.loads((units / "anchors.meta.json").read_text())[case]["flat_stride"]
    expected = np.load(units / "anchors.npz")[case].reshape(-1)
    np.testing.assert_array_equal(np.concatenate(anchors).reshape(-1)[::stride], expected)
    assert anchors[0].dtype == np.float32
    counts = [anchors_per_location(config, layer) for layer in range(anchor_layers(config))]
    assert list(generator.anchors_per_location) == counts


@pytest.mark.parametrize("name", DETECTORS)
def test_anchors_of_the_golden_detectors_are_equal_to_the_last_bit(shared, name):
    size, maps = DETECTORS[name]
    config = load_config(shared / "goldens" / name / "pipeline.config").model.ssd.anchor_generator
    anchors = generator_of(config).anchors([(side, side) for side in maps], size, size)
    expected = np.load(shared / "goldens" / name / "outputs.npz")["anchors"]
    np.testing.assert_array_equal(np.concatenate(anchors), expected)


def test_an_anchor_of_ratio_one_is_square_in_an_image_that_is_not():
    generator = SsdAnchors(
        num_layers=1, scales=(0.5,), aspect_ratios=(1.0,), reduce_boxes_in_lowest_layer=False
    )
    y_min, x_min, y_max, x_max = generator.anchors([(1, 1)], 100, 400)[0][0]
    assert (y_max - y_min) * 100 == pytest.approx((x_max - x_min) * 400)


def test_an_ssd_generator_without_ratios_has_only_the_interpolated_anchor():
    generator = SsdAnchors(num_layers=2)
    assert generator.anchors_per_location == (3, 1)
    assert SsdAnchors(num_layers=2, interpolated_scale_aspect_ratio=0.0).anchors_per_location == (
        3,
        0,
    )


@pytest.mark.parametrize(
    ("generator", "maps"),
    [
        (SsdAnchors(num_layers=2), 3),
        (MultiscaleAnchors(min_level=3, max_level=4, aspect_ratios=(1.0,)), 3),
        (GridAnchors(scales=(1.0,), aspect_ratios=(1.0,)), 2),
        (FlexibleGridAnchors(anchor_grid=()), 1),
    ],
)
def test_a_wrong_number_of_feature_maps_is_refused(generator, maps):
    with pytest.raises(HoldfastError, match=f"{maps} feature maps"):
        generator.anchors([(2, 2)] * maps, 64, 64)


def test_settings_that_do_not_fit_together_are_refused():
    with pytest.raises(HoldfastError, match="1 height_stride and 1 width_stride"):
        SsdAnchors(num_layers=2, height_stride=(8,), width_stride=(8,))
    with pytest.raises(HoldfastError, match="2 height_offset and 1 width_offset"):
        SsdAnchors(num_layers=2, height_offset=(8, 8), width_offset=(8,))
    with pytest.raises(HoldfastError, match="cannot spread"):
        SsdAnchors(num_layers=1)
    with pytest.raises(HoldfastError, match="2 base_sizes, but 1 aspect_ratios"):
        GridLevel(base_sizes=(1.0, 2.0), aspect_ratios=(1.0,), height_stride=8, width_stride=8)
