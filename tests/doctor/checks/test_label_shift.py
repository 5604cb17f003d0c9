from __future__ import annotations

from pathlib import Path

from tests.doctor.cases import found
from tests.doctor.scenes import NAMES, changed, data_case, scenes

TRAIN, EVALUATION = scenes(20), scenes(12, first=50)
OTHER = {1: 2, 2: 3, 3: 1}


def test_a_map_that_is_shifted_by_one_is_an_error(tmp_path: Path):
    case = data_case(tmp_path, TRAIN, EVALUATION, evaluation_names=["new", *NAMES])
    finding = found(case, "label-shift")
    assert finding is not None
    assert finding.severity == "error"
    assert finding.evidence["kind"] == "shifted by +1"
    assert finding.fix.set == {"eval_input_reader[0].label_map_path": "records/label_map.pbtxt"}


def test_names_that_are_exchanged_are_an_error(tmp_path: Path):
    case = data_case(tmp_path, TRAIN, EVALUATION, evaluation_names=["bar", "disc", "plate"])
    finding = found(case, "label-shift")
    assert finding is not None
    assert finding.evidence["classes"] == [
        {"class": "disc", "train_id": 1, "evaluation_id": 2},
        {"class": "bar", "train_id": 2, "evaluation_id": 1},
    ]


def test_ids_that_are_shifted_in_the_records_are_seen_by_their_looks(tmp_path: Path):
    shifted = changed(
        EVALUATION, lambda each: each._replace(ids=tuple(OTHER[number] for number in each.ids))
    )
    finding = found(data_case(tmp_path, TRAIN, shifted), "label-shift")
    assert finding is not None
    assert finding.severity == "error"
    assert finding.evidence["looks_like"] == {"bar": "disc", "plate": "bar", "disc": "plate"}


def test_records_that_were_written_with_another_map_are_a_warning(tmp_path: Path):
    written = changed(
        TRAIN,
        lambda each: each._replace(
            texts=tuple(NAMES[number - 1] for number in each.ids),
            ids=tuple(OTHER[number] for number in each.ids),
        ),
    )
    finding = found(data_case(tmp_path, written, EVALUATION), "label-shift")
    assert finding is not None
    assert finding.severity == "warning"
    assert {"class": "disc", "record_id": 2, "map_id": 1} in finding.evidence["classes"]


def test_one_map_for_both_is_fine(tmp_path: Path):
    assert found(data_case(tmp_path, TRAIN, EVALUATION), "label-shift") is None
