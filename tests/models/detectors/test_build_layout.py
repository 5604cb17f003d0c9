"""Anchors of a config over its data: the same boxes are covered as a built detector would match."""

from __future__ import annotations

import numpy as np
import pytest
from keras import ops
from tests.data.example_records import png, record, write
from tests.models.detectors.small_configs import small_config

from holdfast.cli.inspect.inspect_command import coverage_json
from holdfast.config.text.overrides import apply_overrides
from holdfast.data.survey.inspection import Records, inspect_data, open_data
from holdfast.geometry.overlap import iou, pairwise
from holdfast.models.detectors.build_detector import build_detector
from holdfast.models.detectors.build_layout import anchor_coverage

RESIZERS = {
    "fixed": "{ fixed_shape_resizer { height: 97 width: 161 } }",
    "padded": "{ keep_aspect_ratio_resizer { min_dimension: 96 max_dimension: 128 "
    "pad_to_max_dimension: true } }",
    "any": "{ identity_resizer { } }",
}


@pytest.fixture(scope="module")
def boxes() -> np.ndarray:
    """Many boxes of all sizes."""
    random = np.random.default_rng(0)
    size = random.uniform(0.02, 0.6, (60, 2))
    corner = random.uniform(0, 1, (60, 2)) * (1 - size)
    return np.hstack([corner, corner + size]).astype(np.float32)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, boxes: np.ndarray) -> Records:
    """One good image, and one that is left out."""
    folder = tmp_path_factory.mktemp("coverage")
    file = write(
        folder / "a.record",
        [record(boxes, image=png(100, 60)), record(boxes, image=b"broken", source_id="b")],
    )
    found = open_data(file)
    assert isinstance(found, Records)
    return found


@pytest.mark.parametrize("name", ["ssd", "fpn"])
@pytest.mark.parametrize("resizer", RESIZERS)
def test_a_box_is_covered_if_an_anchor_of_the_detector_reaches_the_threshold(
    data: Records, boxes: np.ndarray, name: str, resizer: str
):
    config, problems = apply_overrides(
        small_config(name, 64, 64),
        {
            "model.ssd.image_resizer": RESIZERS[resizer],
            "model.ssd.feature_extractor.pad_to_multiple": 32,
            "model.ssd.matcher.argmax_matcher.matched_threshold": 0.4,
            "model.ssd.matcher.argmax_matcher.unmatched_threshold": 0.4,
        },
    )
    assert not problems
    detector = build_detector(config)
    inputs, sizes = detector.preprocess([np.zeros((60, 100, 3), np.uint8)])
    scale = np.asarray(sizes[0, :2]) / inputs.shape[1:3]
    anchors = detector(inputs, sizes=sizes).anchors
    overlaps = pairwise(iou, boxes * np.tile(scale, 2).astype(np.float32), anchors)
    expected = int(np.sum(np.asarray(ops.max(overlaps, axis=-1)) >= 0.4))
    found = anchor_coverage(config.model, data, inspect_data(data).statistics)
    assert found is not None
    assert found.here.iou_threshold == pytest.approx(0.4)
    assert (found.here.all.boxes, found.here.all.covered) == (60, expected)
    assert 0 < expected < 60


def test_another_resolution_is_compared_with_the_published_one(data: Records):
    config = small_config("ssd", 150, 150)
    document = coverage_json(anchor_coverage(config.model, data, inspect_data(data).statistics))
    assert document is not None
    assert (document["published"]["height"], document["published"]["width"]) == (300, 300)
    # At half the size the grid of anchors is coarser, and more boxes are small.
    assert document["all"]["covered"] < document["published"]["all"]["covered"]
    assert document["small"]["boxes"] > document["published"]["small"]["boxes"]


def test_the_published_resolution_is_compared_with_nothing(data: Records):
    config = small_config("ssd", 300, 300)
    document = coverage_json(anchor_coverage(config.model, data, inspect_data(data).statistics))
    assert document is not None
    assert "published" not in document


@pytest.mark.parametrize(
    "override",
    [
        {"model.ssd.feature_extractor.type": "mine"},
        {"model.ssd.anchor_generator": None},
        {"model.ssd.image_resizer": None},
    ],
)
def test_what_has_no_anchors_has_no_coverage(data: Records, override: dict[str, str | None]):
    config, _ = apply_overrides(small_config("ssd", 64, 64), override)
    assert anchor_coverage(config.model, data, inspect_data(data).statistics) is None
    assert coverage_json(None) is None
