from __future__ import annotations

from pathlib import Path

from tests.doctor.cases import HEALTHY, case_of, found
from tests.doctor.scenes import changed, data_case, scenes

from holdfast.doctor.diagnose import examine


def test_ids_that_count_from_0_are_an_error(tmp_path: Path):
    shifted = changed(scenes(6), lambda each: each._replace(ids=tuple(i - 1 for i in each.ids)))
    finding = found(data_case(tmp_path, shifted), "label-outside-map")
    assert finding is not None
    assert finding.severity == "error"
    assert "from 1" in finding.fix.text


def test_another_spelling_is_named(tmp_path: Path):
    names = {1: "disc", 2: "Bar ", 3: "plate"}
    spelled = changed(
        scenes(6), lambda each: each._replace(texts=tuple(names[number] for number in each.ids))
    )
    finding = found(data_case(tmp_path, spelled), "label-outside-map")
    assert finding is not None
    assert finding.severity == "error"
    assert finding.evidence["probably_meant"] == {"Bar ": "bar"}


def test_one_slip_among_many_is_a_warning(tmp_path: Path):
    slip = scenes(30)
    slip[0] = slip[0]._replace(ids=(9, *slip[0].ids[1:]))
    finding = found(data_case(tmp_path, slip), "label-outside-map")
    assert finding is not None
    assert finding.severity == "warning"
    assert finding.evidence["classes"] == {"9": 1}


def test_ids_above_num_classes_are_found_without_a_label_map(tmp_path: Path):
    from tests.cli.commands import CONFIG

    config = CONFIG.replace('label_map_path: "records/label_map.pbtxt"', "")
    wrong = changed(scenes(6), lambda each: each._replace(ids=(7, *each.ids[1:])))
    finding = found(data_case(tmp_path, wrong, config=config), "label-outside-map")
    assert finding is not None
    assert finding.evidence["classes"] == {"7": 6}


def test_labels_of_the_map_are_fine(tmp_path: Path):
    assert found(data_case(tmp_path, scenes(6), scenes(3, first=50)), "label-outside-map") is None


def test_a_label_map_that_counts_from_0_is_an_error(tmp_path: Path):
    path = tmp_path / "label_map.pbtxt"
    path.write_text('item { id: 0 name: "disc" } item { id: 1 name: "bar" }')
    case = case_of(HEALTHY, {"train_input_reader.label_map_path": str(path)})
    finding = found(case, "label-outside-map")
    assert finding is not None
    assert finding.severity == "error"
    assert "reserved for the background" in finding.what
    assert "from 1" in finding.fix.text


def test_a_label_map_that_is_elsewhere_is_not_judged():
    diagnosis = examine(case_of(HEALTHY), only=["label-outside-map"])
    assert diagnosis.findings == ()
    assert diagnosis.not_looked_at
