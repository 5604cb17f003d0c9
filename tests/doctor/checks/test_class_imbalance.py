from __future__ import annotations

from pathlib import Path

from tests.doctor.cases import found
from tests.doctor.scenes import data_case, scene, scenes


def test_one_to_a_hundred_is_a_warning_with_weights(tmp_path: Path):
    rare = scene(99, objects=1, kinds=[2])
    case = data_case(tmp_path, [*scenes(20, objects=5, kinds=[1]), rare])
    finding = found(case, "class-imbalance")
    assert finding is not None
    assert finding.severity == "warning"
    assert finding.evidence["ratio"] == 100
    bar, disc = finding.evidence["classes"]
    assert (bar["class"], bar["boxes"]) == ("bar", 1)
    assert bar["suggested_weight"] > 10 * disc["suggested_weight"]
    assert finding.fix.command == f"holdfast train {case.shown_path} --class-weights auto --run RUN"


def test_classes_of_about_equal_number_are_fine(tmp_path: Path):
    assert found(data_case(tmp_path, scenes(12)), "class-imbalance") is None


def test_one_class_has_no_balance(tmp_path: Path):
    assert found(data_case(tmp_path, scenes(4, kinds=[1])), "class-imbalance") is None
