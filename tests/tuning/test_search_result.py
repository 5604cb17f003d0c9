"""The winner as a config, and the document."""

from __future__ import annotations

from pathlib import Path

from holdfast.config.load import load_config
from holdfast.config.paths import find_files
from holdfast.tuning.search_loop import SearchRequest
from holdfast.tuning.search_result import search_document, write_best, write_picture
from holdfast.tuning.search_space import parse_space
from holdfast.tuning.search_study import SearchStudy, TrialState
from holdfast.tuning.trial_settings import curve_of

METRIC = "DetectionBoxes_Precision/mAP"
RATE = "train_config.optimizer.momentum_optimizer.learning_rate.constant_learning_rate"


def searched(config: Path, *ends: TrialState) -> tuple[SearchRequest, SearchStudy]:
    over = ["learning-rate=log:1e-4..1", "class-weights=auto,inverse"]
    asked = SearchRequest(
        config=config,
        overrides={"train_config.batch_size": "2"},
        space=parse_space(over, curve_of(load_config(config), 9)),
        out=Path("found/here"),
        trials=3,
        metric=METRIC,
        steps=9,
        evaluate_every=3,
    )
    study = SearchStudy(asked.out, asked.space, facts={}, evaluations=3, is_minimized=False, seed=0)
    for number, state in enumerate(ends):
        trial = study.claim(len(ends))
        if state == TrialState.COMPLETE:
            trial.report(1, 0.1 * number)
        trial.end(state, "" if state == TrialState.COMPLETE else "so it was")
    return asked, study


def test_the_best_config_can_be_trained_from_where_it_lies(config):
    asked, study = searched(config, TrialState.COMPLETE, TrialState.COMPLETE, TrialState.FAILED)
    best = write_best(asked, study)
    assert best.trial.number == 1
    written = load_config(best.path)
    rate = written.train_config.optimizer.momentum_optimizer.learning_rate.constant_learning_rate
    assert f"{rate.learning_rate:.4g}" == f"{best.trial.settings['learning-rate']:.4g}"
    assert written.train_config.batch_size == 2
    (records,) = written.train_input_reader.tf_record_input_reader.input_path
    found = find_files(records, best.path.parent).files
    assert [Path(each).resolve() for each in found] == [
        Path("records/train.record-00000-of-00001").resolve()
    ]
    paths = [line.partition(":")[0] for line in best.differences]
    assert paths == ["train_config.batch_size", f"{RATE}.learning_rate"]
    weights = best.trial.settings["class-weights"]
    assert best.command == (
        f"holdfast train found/here/best.config --run found/here/best --class-weights {weights}"
    )


def test_without_a_trial_that_was_trained_to_its_end_there_is_no_best(config):
    asked, study = searched(config, TrialState.FAILED, TrialState.SKIPPED)
    assert write_best(asked, study) is None
    document = search_document(asked, study, None)
    assert document["best"] is None
    assert [each["state"] for each in document["trials"]] == ["failed", "skipped"]
    assert [each["reason"] for each in document["trials"]] == ["so it was"] * 2


def test_the_document_has_the_fixed_keys(config):
    asked, study = searched(config, TrialState.COMPLETE)
    document = search_document(asked, study, write_best(asked, study))
    assert document["best"]["settings"].keys() == {"learning-rate", "class-weights"}
    assert document["best"]["run"] == "found/here/trials/0000"
    assert {"settings", "metric", "state", "run"} <= document["trials"][0].keys()


def test_the_picture_is_there_whatever_came_of_the_trials(config):
    for ends in ((TrialState.FAILED,), (TrialState.COMPLETE,) * 3):
        asked, study = searched(config, *ends)
        assert write_picture(asked, study).read_bytes().startswith(b"\x89PNG")
        (asked.out / "study.journal").unlink()
