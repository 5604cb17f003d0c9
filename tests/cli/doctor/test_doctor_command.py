from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.commands import CONFIG, RATE, Trained, holdfast


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "pipeline.config"
    path.write_text(CONFIG)
    return path


def test_json_has_the_fixed_keys(config: Path):
    done = holdfast("doctor", config, "--json")
    document = json.loads(done.out)
    assert {"findings", "looked_at", "not_looked_at"} <= set(document)
    assert all(set(each) == {"code", "reason"} for each in document["not_looked_at"])


def test_without_an_argument_it_says_what_to_give():
    done = holdfast("doctor")
    assert done.code == 2
    assert "Give a pipeline.config" in done.err


def test_a_run_is_not_overridden(tmp_path: Path):
    (tmp_path / "events.jsonl").write_text("")
    done = holdfast("doctor", tmp_path, "--set", "train_config.batch_size=8")
    assert done.code == 2
    assert "not overridden" in done.err


def test_a_fix_that_nobody_names_cannot_be_tried(config: Path):
    finished = holdfast("doctor", config, "--try", "set")
    assert finished.code == 2
    assert "there is no --set" in finished.err
    finished = holdfast("doctor", config, "--try", "loss-diverged")
    assert finished.code == 2
    assert "loss-diverged was not found here: there is no run yet" in finished.err


@pytest.mark.slow
def test_the_range_test_draws_its_curve(trained: Trained, tmp_path: Path):
    picture = tmp_path / "curve.png"
    options = ("--learning-rate", "--try-steps", 40, "--picture", picture, "--json")
    finished = holdfast("doctor", trained.config, *options)
    document = json.loads(finished.out)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert {"proposed", "set", "rule", "curve", "ended"} <= set(document)
    assert finished.code == (0 if document["proposed"] else 1)


@pytest.mark.slow
def test_a_fix_is_tried_beside_another_seed(trained: Trained):
    options = ("--set", f"{RATE}.learning_rate=0.1", "--try-steps", 10, "--json")
    finished = holdfast("doctor", trained.config, "--try", "set", *options)
    document = json.loads(finished.out)
    assert [row["name"] for row in document["trials"]] == [
        *("as it is", "with the fix", "as it is, another seed"),
    ]
    assert document["fix"]["set"] == {f"{RATE}.learning_rate": "0.1"}
    assert finished.code == (0 if document["offered"] else 1)
