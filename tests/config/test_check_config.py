from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.config.check_config import check_config, report_json

from .texts import CONFIG, config, edited, line_of, write_files

FLOATS = "model.ssd.post_processing.logit_scale"


def test_a_trainable_config_is_ok_and_said_to_be_so(tmp_path: Path):
    path = write_files(tmp_path / "run")
    report = check_config(path)
    assert report.ok
    assert report.errors == report.warnings == ()
    assert report.config == config()
    assert report.source == path
    assert report.summary[0].label == "architecture"


def test_errors_and_warnings_have_the_lines_of_their_fields(tmp_path: Path):
    text = edited(
        ("num_classes: 3", "num_classes: 2"),
        ('"eval.record"', '"gone.record"'),
        ("num_steps: 1000", "num_steps: 900"),
    )
    report = check_config(write_files(tmp_path / "run", text))
    assert not report.ok
    assert [(each.line, each.path) for each in report.errors] == [
        (line_of("num_classes", text), "model.ssd.num_classes"),
        (line_of("gone.record", text), "eval_input_reader[0].tf_record_input_reader.input_path[0]"),
    ]
    assert [(each.line, each.path) for each in report.warnings] == [
        (
            line_of("total_steps", text),
            "train_config.optimizer.momentum_optimizer.learning_rate"
            ".cosine_decay_learning_rate.total_steps",
        )
    ]
    assert report.config is not None


def test_warnings_alone_leave_a_config_ok(tmp_path: Path):
    report = check_config(write_files(tmp_path / "run"), {"train_config.num_steps": 900})
    assert report.ok
    assert len(report.warnings) == 1


def test_a_config_that_cannot_be_read_has_errors_only(tmp_path: Path):
    text = edited(("num_classes: 3", "num_clases: 3"), ('"eval.record"', '"gone.record"'))
    report = check_config(write_files(tmp_path / "run", text))
    assert (report.ok, report.config, report.warnings, report.summary) == (False, None, (), ())
    assert [(each.line, each.path) for each in report.errors] == [(3, "model.ssd.num_clases")]


def test_a_missing_file_is_an_error_and_not_raised(tmp_path: Path):
    report = check_config(tmp_path / "gone.config")
    assert [each.message for each in report.errors] == ["there is no such file"]
    assert report.config is None


def test_overrides_are_checked_like_the_file(tmp_path: Path):
    path = write_files(tmp_path / "run")
    good = check_config(path, {"train_config.batch_size": "4"})
    assert good.config is not None
    assert good.config.train_config is not None
    assert good.config.train_config.batch_size == 4
    unreadable = check_config(path, {"train_config.batch_size": "four"})
    assert unreadable.config is None
    assert [each.path for each in unreadable.errors] == ["train_config.batch_size"]
    judged = check_config(path, {"train_config.batch_size": 0})
    assert [each.message for each in judged.errors] == ["a batch of 0 images"]


def test_a_problem_of_two_readers_is_reported_once(tmp_path: Path):
    report = check_config(
        write_files(tmp_path / "run", edited(("num_classes: 3", "num_classes: 2")))
    )
    assert len(report.errors) == 1


# The JSON form.

KEYS = {"line", "column", "path", "message", "fix", "set"}


def through_json(path: Path, overrides: dict[str, Any] | None = None) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(report_json(check_config(path, overrides))))
    return document


def test_the_json_form_of_a_good_config_has_the_fixed_keys(tmp_path: Path):
    document = through_json(write_files(tmp_path / "run"))
    assert {"ok", "errors", "warnings", "config"} <= set(document)
    assert (document["ok"], document["errors"], document["warnings"]) == (True, [], [])
    assert document["config"]["train_config"]["batch_size"] == 8
    assert document["config"]["eval_input_reader"][0]["shuffle"] is False
    assert "sync_replicas" not in document["config"]["train_config"]
    assert document["summary"][0] == {"label": "architecture", "text": "SSD"}


def test_the_json_form_lists_problems_with_the_fixed_keys(tmp_path: Path):
    text = edited(("batch_size: 8", "batch_size: 0"), ("num_steps: 1000", "num_steps: 900"))
    document = through_json(write_files(tmp_path / "run", text))
    assert document["ok"] is False
    assert document["config"]["train_config"]["batch_size"] == 0
    (error,), (warning,) = document["errors"], document["warnings"]
    assert set(error) == set(warning) == KEYS
    assert error == {
        "line": line_of("batch_size", text),
        "column": 15,
        "path": "train_config.batch_size",
        "message": "a batch of 0 images",
        "fix": "write at least 1",
        "set": {"train_config.batch_size": "8"},
    }


def test_the_json_form_of_an_unreadable_config_has_none(tmp_path: Path):
    document = through_json(tmp_path / "gone.config")
    assert (document["ok"], document["config"], document["warnings"]) == (False, None, [])
    assert set(document["errors"][0]) == KEYS
    assert document["errors"][0]["line"] is None


@pytest.mark.parametrize(
    ("value", "written"), [("nan", "NaN"), ("inf", "Infinity"), ("-inf", "-Infinity")]
)
def test_the_json_form_is_strict_json_also_for_odd_numbers(
    tmp_path: Path, value: str, written: str
):
    report = check_config(write_files(tmp_path / "run"), {FLOATS: value})
    document = json.loads(json.dumps(report_json(report), allow_nan=False))
    assert document["config"]["model"]["ssd"]["post_processing"]["logit_scale"] == written


# Real configs.


def test_every_config_of_the_corpus_is_checked_without_raising(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    paths = [*corpus.glob("zoo_configs/*/*.config"), *corpus.glob("user_configs/*.config")]
    assert len(paths) > 400
    unreadable = 0
    for path in paths:
        report = check_config(path)
        json.dumps(report_json(report), allow_nan=False)
        lines = len(path.read_bytes().split(b"\n"))
        for problem in (*report.errors, *report.warnings):
            assert problem.message, path.name
            assert problem.line is None or 1 <= problem.line <= lines, path.name
            assert problem.severity == ("error" if problem in report.errors else "warning")
        if report.config is None:
            unreadable += 1
            assert report.errors, path.name
        else:
            assert report.summary, path.name
    assert 0 < unreadable < len(paths) / 4


# What a zoo config may lack: its files, a network that Holdfast does not build, and one metric
# that the OD API itself no longer knows.
EXPECTED = (
    "PATH_TO_BE_CONFIGURED was left in",
    "there is no file ",
    "there is no checkpoint ",
    " matches no file",
    "Holdfast does not build ",
    "Holdfast does not support it",
    "there is no metric 'open_images_metrics'",
)


def test_zoo_configs_lack_nothing_but_their_files(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The OD API trains them, so that any other error would be a false alarm."""
    monkeypatch.chdir(tmp_path)
    reports = [check_config(path) for path in corpus.glob("zoo_configs/*/*.config")]
    assert sum(report.config is not None for report in reports) > 80
    alarms = [
        f"{report.source.name}: {error}"
        for report in reports
        if report.config is not None
        for error in report.errors
        if not any(expected in error.message for expected in EXPECTED)
    ]
    assert alarms == []


def test_a_problem_of_an_overridden_value_points_at_no_line_of_the_file(tmp_path):
    write_files(tmp_path)
    path = tmp_path / "pipeline.config"
    path.write_text(CONFIG)
    report = check_config(path, {"train_config.batch_size": 0})
    (problem,) = [each for each in report.errors if each.path == "train_config.batch_size"]
    assert problem.line is None
