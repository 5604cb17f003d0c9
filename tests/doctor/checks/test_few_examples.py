from __future__ import annotations

from pathlib import Path

from tests.doctor.cases import found
from tests.doctor.scenes import data_case, scene, scenes


def test_a_class_of_five_boxes_is_a_warning(tmp_path: Path):
    few = scene(99, objects=5, kinds=[2])
    case = data_case(tmp_path, [*scenes(100, objects=1, kinds=[1]), few])
    finding = found(case, "few-examples")
    assert finding is not None
    assert finding.severity == "warning"
    assert finding.evidence["classes"] == [{"class": "bar", "boxes": 5}]


def test_five_images_are_a_warning(tmp_path: Path):
    finding = found(data_case(tmp_path, scenes(5, objects=6, kinds=[1])), "few-examples")
    assert finding is not None
    assert finding.severity == "warning"
    assert finding.evidence["images_with_boxes"] == 5


def test_a_hundred_images_are_enough(tmp_path: Path):
    assert found(data_case(tmp_path, scenes(100, objects=1)), "few-examples") is None
