"""Which two detectors speak of the same anchors, and which cannot be taught."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.models.detectors.center_net.small_centers import BOXES, MASKS, MOBILE, center_net
from tests.models.detectors.small_configs import small_config

from holdfast.config.text.overrides import apply_overrides
from holdfast.errors import HoldfastError
from holdfast.models.detectors.build_detector import build_detector
from holdfast.training.teaching.build_teaching import Student, anchors_agree, build_teaching

ANCHORS = "model.ssd.anchor_generator.ssd_anchor_generator"


@pytest.fixture(scope="module")
def ssd():
    return small_config("ssd", 64, 64)


@pytest.mark.parametrize(
    ("changes", "agrees"),
    [
        ({"model.ssd.feature_extractor.depth_multiplier": 0.3}, True),
        ({f"{ANCHORS}.min_scale": 0.1}, False),
        ({"model.ssd.post_processing.score_converter": "SOFTMAX"}, False),
        ({"model.ssd.image_resizer.fixed_shape_resizer.height": 128}, False),
    ],
)
def test_anchors_agree_where_places_and_scores_are_the_same(ssd, changes, agrees):
    changed, problems = apply_overrides(ssd, changes)
    assert not problems
    assert anchors_agree(build_detector(ssd), build_detector(changed)) is agrees


def test_two_kinds_of_detectors_have_no_anchors_in_common(ssd):
    other = build_detector(center_net(BOXES, MOBILE, size=(64, 64)))
    assert not anchors_agree(build_detector(ssd), other)


def test_a_student_that_learns_more_than_boxes_from_heatmaps_is_refused(tmp_path):
    config = center_net(BOXES + MASKS, MOBILE, size=(64, 64))
    student = Student(detector=build_detector(config), config=config, folder=Path(tmp_path))
    with pytest.raises(HoldfastError, match="masks"):
        build_teaching("runs/teacher", student)
