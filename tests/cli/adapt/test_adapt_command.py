"""`holdfast adapt` prints every change with its reason, and as JSON."""

from __future__ import annotations

import json
import shutil

import pytest

from holdfast.config.load import load_config

from ..commands import holdfast, words


@pytest.fixture
def config(trained, tmp_path):
    shutil.copytree(trained.config.parent / "records", tmp_path / "records")
    return shutil.copy(trained.config, tmp_path / "pipeline.config")


def test_another_resolution_and_batch_as_json(config, tmp_path):
    out = tmp_path / "new.config"
    finished = holdfast(
        "adapt", config, "--resolution", "128", "--batch-size", 2, "--out", out, "--json"
    )
    assert finished.code == 0, finished.err
    document = json.loads(finished.out)
    assert document["config"] == str(out)
    changes = {each["path"]: each for each in document["changes"]}
    height = changes["model.ssd.image_resizer.fixed_shape_resizer.height"]
    assert (height["before"], height["after"]) == (96, 128)
    assert all(each["why"] for each in document["changes"])
    assert document["coverage"]["after"] >= document["coverage"]["before"]
    peaks = document["predicted_peak_bytes"]
    assert peaks["before"] > 0
    assert peaks["after"] > 0
    loaded = load_config(out)
    assert loaded.train_config.batch_size == 2
    assert loaded.train_config.num_steps == 8


def test_what_remains_to_be_done_is_said(config, tmp_path, monkeypatch):
    monkeypatch.setattr("holdfast.cli.adapt.adapt_command._predictor", lambda: lambda config: 10**9)
    broken = tmp_path / "broken.config"
    steps = "batch_size: 4 num_steps: 4"
    lacking = f'{steps} fine_tune_checkpoint: "PATH_TO_BE_CONFIGURED"'
    broken.write_text((tmp_path / "pipeline.config").read_text().replace(steps, lacking))
    out = tmp_path / "new.config"
    finished = holdfast("adapt", broken, "--batch-size", 2, "--out", out)
    assert finished.code == 1
    text = words(finished.out)
    assert "train_config.batch_size - 4 + 2 As asked for." in text
    assert "fine_tune_checkpoint" in text
    assert f"holdfast check {out}" in text
    again = holdfast("adapt", broken, "--batch-size", 2, "--out", out)
    assert again.code == 2
    assert "not overwritten" in again.err


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--resolution", "large"], "not a resolution"),
        (["--classes", "star"], "none is named"),
        (["--resolution", "8"], "at least"),
    ],
)
def test_wrong_options_are_refused(config, tmp_path, options, text):
    finished = holdfast("adapt", config, *options, "--out", tmp_path / "new.config")
    assert finished.code == 2
    assert text in words(finished.err)
