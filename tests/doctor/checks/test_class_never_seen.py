from __future__ import annotations

from pathlib import Path

from tests.doctor.cases import found
from tests.doctor.scenes import data_case, scenes


def test_a_class_that_is_evaluated_and_never_trained_is_an_error(tmp_path: Path):
    case = data_case(tmp_path, scenes(6, kinds=[1, 2]), scenes(3, first=50))
    finding = found(case, "class-never-seen")
    assert finding is not None
    assert finding.severity == "error"
    assert finding.evidence["never_seen"] == ["plate"]
    assert finding.evidence["boxes_to_evaluate"] == {"plate": 4}


def test_a_class_that_is_nowhere_is_a_warning(tmp_path: Path):
    case = data_case(tmp_path, scenes(6, kinds=[1, 2]), scenes(3, first=50, kinds=[1, 2]))
    finding = found(case, "class-never-seen")
    assert finding is not None
    assert finding.severity == "warning"


def test_all_classes_seen_is_fine(tmp_path: Path):
    assert found(data_case(tmp_path, scenes(6), scenes(3, first=50)), "class-never-seen") is None
