import json
from pathlib import Path
from typing import Any

import pytest

from holdfast import load_config
from holdfast.config.facts.anchor_counts import anchor_mismatch
from holdfast.config.facts.feature_maps import FeatureMap, feature_maps
from holdfast.config.facts.input_sizes import InputShape, indivisible_levels, input_shape
from holdfast.config.schema.model import DetectionModel

from ..detection_models import SSD_ANCHORS, center_net, faster_rcnn, model, square, ssd

LARGE = [19, 10, 5, 3, 2, 1]


def heights(detector: DetectionModel, size: int) -> list[int]:
    return [found.height for found in feature_maps(detector, square(size))]


@pytest.mark.parametrize(
    ("extractor", "size", "expected"),
    [
        ("ssd_mobilenet_v1", 300, LARGE),
        ("ssd_mobilenet_v2_keras", 320, [20, 10, 5, 3, 2, 1]),
        ("ssd_mobilenet_v3_large", 299, LARGE),
        ("ssd_inception_v2", 300, LARGE),
        ("ssd_inception_v3", 128, [13, 6, 2, 1, 1, 1]),
        ("ssd_inception_v3", 299, [35, 17, 8, 4, 2, 1]),
        ("ssd_inception_v3", 320, [37, 18, 8, 4, 2, 1]),
        ("ssd_pnasnet", 128, [8, 4, 2, 1, 1, 1]),
        ("ssd_pnasnet", 299, LARGE),
        ("embedded_ssd_mobilenet_v1", 256, [16, 8, 4, 2, 1]),
        ("ssd_mobilenet_v1_ppn", 300, LARGE),
        ("ssd_resnet50_v1_ppn", 289, LARGE),
        ("ssd_spaghettinet", 320, [20, 10, 5, 3, 3]),
        ("ssd_mobilenet_v2_mnasfpn", 320, [40, 20, 10, 5]),
        ("ssd_resnet50_v1_fpn_keras", 640, [80, 40, 20, 10, 5]),
        ("ssd_mobilenet_v2_fpn_keras", 320, [40, 20, 10, 5, 3]),
        ("ssd_efficientnet-b0_bifpn_keras", 512, [64, 32, 16, 8, 4]),
    ],
)
def test_ssd_maps_have_the_sizes_the_od_api_has(extractor: str, size: int, expected: list[int]):
    assert heights(ssd(extractor), size) == expected


@pytest.mark.parametrize(
    ("extractor", "stride", "size", "expected"),
    [
        ("faster_rcnn_resnet101", 16, 224, 14),
        ("faster_rcnn_resnet101", 8, 224, 28),
        ("faster_rcnn_inception_resnet_v2_keras", 16, 299, 19),
        ("faster_rcnn_inception_resnet_v2", 8, 224, 28),
        ("faster_rcnn_inception_v2", 8, 224, 14),  # the OD API takes the 8 and does not heed it
        ("faster_rcnn_nas", 16, 299, 19),
        ("faster_rcnn_nas", 16, 65, 4),
        ("faster_rcnn_pnas", 16, 112, 7),
    ],
)
def test_the_first_stage_sees_one_map(extractor: str, stride: int, size: int, expected: int):
    detector = faster_rcnn(extractor, f"first_stage_features_stride: {stride}")
    assert heights(detector, size) == [expected]


def test_faster_rcnn_fpn_has_levels_2_to_6_unless_an_fpn_block_is_given():
    assert heights(faster_rcnn("faster_rcnn_resnet50_fpn_keras"), 640) == [160, 80, 40, 20, 10]
    detector = faster_rcnn("faster_rcnn_resnet50_fpn_keras", "fpn { max_level: 5 }")
    assert heights(detector, 640) == [80, 40, 20]


@pytest.mark.parametrize(
    ("extractor", "size", "expected"),
    [("hourglass_104", 512, 128), ("resnet_v1_50_fpn", 512, 128), ("resnet_v2_50", 500, 128)],
)
def test_center_net_has_one_map_of_stride_4_without_anchors(
    extractor: str, size: int, expected: int
):
    (found,) = feature_maps(center_net(extractor), square(size))
    assert found == FeatureMap(2, expected, expected, 0)
    assert (found.stride, found.anchors) == (4, 0)


def test_height_and_width_are_independent():
    maps = feature_maps(ssd("ssd_mobiledet_cpu"), InputShape(640, 320, fixed=True))
    assert [found[1:3] for found in maps] == [(40, 20), (20, 10), (10, 5), (5, 3), (3, 2), (2, 1)]


def test_num_layers_shortens_the_list():
    assert heights(ssd("ssd_mobilenet_v2", "num_layers: 4"), 300) == LARGE[:4]
    assert heights(ssd("ssd_mobilenet_v2", "num_layers: 9"), 300) == LARGE


def test_an_unknown_network_has_no_maps():
    assert feature_maps(ssd("ssd_mobilenet_v9"), square(300)) == ()
    assert feature_maps(ssd("faster_rcnn_resnet50"), square(300)) == ()
    assert feature_maps(model("experimental_model { name: 'mine' }"), square(300)) == ()
    assert feature_maps(DetectionModel(), square(300)) == ()


def test_maps_without_a_layer_of_the_generator_have_no_anchors():
    maps = feature_maps(ssd("ssd_mobilenet_v2", rest=SSD_ANCHORS % 5), square(300))
    assert [found.anchors_per_location for found in maps] == [3, 4, 4, 4, 4, 0]


def test_absurd_numbers_are_answered_at_once():
    fpn = "fpn { min_level: -5 max_level: 2147483647 }"
    anchors = "anchor_generator { multiscale_anchor_generator { min_level: 2147483647 } }"
    detector = ssd("ssd_resnet50_v1_fpn", fpn + " pad_to_multiple: 0", anchors)
    assert len(feature_maps(detector, square(300))) == 32
    assert anchor_mismatch(detector) is not None
    assert input_shape(detector) == square(300)


def test_goldens_have_as_many_anchors_and_heatmap_cells(shared: Path):
    compared = 0
    for outputs in sorted(shared.glob("goldens/*/outputs.meta.json")):
        detector = load_config(outputs.parent / "pipeline.config").model
        assert detector is not None
        shape = input_shape(detector)
        assert shape is not None
        height, width = golden_shape(outputs.parent / "input.meta.json", "preprocessed")[1:3]
        assert not shape.fixed or shape[:2] == (height, width)
        shape = shape._replace(height=height, width=width)
        maps = feature_maps(detector, shape)
        if detector.has("center_net"):
            assert maps[0][1:3] == golden_shape(outputs, "pred/object_center__0")[1:3]
        else:
            name = "anchors" if detector.has("ssd") else "pred/anchors"
            assert sum(found.anchors for found in maps) == golden_shape(outputs, name)[0], outputs
        compared += 1
    assert compared >= 9


def golden_shape(path: Path, name: str) -> tuple[int, ...]:
    arrays: dict[str, Any] = json.loads(path.read_text())
    return tuple(arrays[name]["shape"])


def test_every_zoo_config_fits_together(corpus: Path):
    paths = sorted(corpus.glob("zoo_configs/*/*.config"))
    assert len(paths) > 90
    for path in paths:
        detector = load_config(path).model
        assert detector is not None
        shape = input_shape(detector)
        assert shape is not None, path
        maps = feature_maps(detector, shape)
        assert all(found.anchors or detector.has("center_net") for found in maps), path
        assert maps, path
        assert anchor_mismatch(detector) is None, path
        assert indivisible_levels(detector, shape) == (), path
