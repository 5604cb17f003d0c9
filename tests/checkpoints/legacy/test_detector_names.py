import json

import pytest

from holdfast.checkpoints.legacy.legacy_reader import LegacyCheckpoint, open_checkpoint
from holdfast.checkpoints.legacy.legacy_sorting import generation_of
from holdfast.checkpoints.variable_matching import match

from ..networks import network

GOLDENS = {
    "ssd_efficientdet_d0_512x512_coco17_tpu-8": "efficientdet_d0",
    "ssd_inception_v2_coco": "ssd_inception_v2",
    "ssd_mobilenet_v1_fpn_640x640_coco17_tpu-8": "ssd_mobilenet_v1_fpn",
    "ssd_mobilenet_v2_320x320_coco17_tpu-8": "ssd_mobilenet_v2",
    "ssd_mobilenet_v2_coco": "ssd_mobilenet_v2",
    "ssd_mobilenet_v2_fpnlite_320x320_coco17_tpu-8": "fpnlite_mobilenet_v2",
    "ssd_resnet50_v1_fpn_640x640_coco17_tpu-8": "ssd_resnet50_v1_fpn",
}
# Which network each single-stage index is of.
INDEXES = {
    "ssd_mobilenet_v1": [19, 23, 28, 29, 43, 50, 52, 60],
    "ssd_mobilenet_v1_fpn": [40, 41],
    "ssd_mobilenet_v2": [4, 5, 6, 20, 30, 31, 46, 47],
    "ssd_mobilenet_v2_of_2018": [7, 21],
    "ssdlite_mobilenet_v2": [3],
    "fpnlite_mobilenet_v2": [16, 24, 26, 27, 33, 36, 37, 38, 49, 51, 54, 58, 59, 64, 65],
    "fpnlite_mobilenet_v2_of_six_layers": [13, 14, 15],
    "ssdlite_mobilenet_v3_large": [17, 18],
    "ssd_inception_v2": [48, 53],
    "efficientdet_d0": [8, 9, 25, 34, 35, 39, 45, 55, 56],
    "efficientdet_d4": [32],
}
OF_TWO_STAGES_OR_CENTERS = [1, 2, 10, 11, 12, 22, 42, 44, 57, 61, 62, 63]
SLOW = {"efficientdet_d4"}


@pytest.mark.parametrize("folder", GOLDENS)
def test_every_variable_of_a_golden_has_its_place(shared, folder):
    variables = json.loads((shared / "goldens" / folder / "variables.json").read_text())
    shapes = {name: tuple(shape) for name, shape, _ in variables}
    checkpoint = LegacyCheckpoint(
        prefix=folder,
        generation=generation_of(shapes),
        shapes=shapes,
        averages={},
        other=(),
        reader=None,
    )
    report = match(network(GOLDENS[folder]), checkpoint, "full")
    assert report.is_whole
    assert set(report.loaded) == set(shapes)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in INDEXES]
)
def test_every_variable_of_a_real_single_stage_index_has_its_place(corpus, name):
    for number in INDEXES[name]:
        checkpoint = open_checkpoint(corpus / f"checkpoint_indexes/checkpoint{number:02d}")
        report = match(network(name), checkpoint, "full")
        assert report.missing == (), checkpoint.prefix
        assert report.unused == (), checkpoint.prefix
        # A user's own classes: only what predicts classes is of another shape.
        for mismatched in report.mismatched:
            assert "ClassPredictor/" in mismatched or "_class_predictor_layers/" in mismatched


def test_the_tables_above_know_every_index(corpus):
    indexes = list((corpus / "checkpoint_indexes").glob("*.index"))
    known = [number for numbers in INDEXES.values() for number in numbers]
    assert sorted(known + OF_TWO_STAGES_OR_CENTERS) == list(range(1, len(indexes) + 1))
