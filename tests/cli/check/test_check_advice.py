from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from ...config.texts import CONFIG, LABEL_MAP
from ..commands import holdfast, words


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with data in an awkwardly named folder, and an old config."""
    data = tmp_path / "my data's"
    data.mkdir()
    for name in ("train.record", "test.record"):
        (data / name).write_bytes(b"record")
    (data / "labels.pbtxt").write_text(LABEL_MAP)
    text = CONFIG.replace('"train.record"', '"C:/old/train.record"')
    text = text.replace('"eval.record"', '"C:/old/test.record"').replace("labels", "/old/labels")
    (tmp_path / "old.config").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_last_line_is_one_command_and_pasted_into_a_shell_the_config_is_ready(folder: Path):
    finished = holdfast("check", "old.config")
    assert finished.code == 1
    command = shlex.split(finished.out.rstrip("\n").splitlines()[-1])
    assert command[:3] == ["holdfast", "check", "old.config"]
    again = holdfast(*command[1:])
    assert again.code == 0, again.out
    assert again.out.rstrip().splitlines()[-1].startswith("Ready to train")


def test_options_that_were_given_stay_in_the_command(folder: Path):
    option = "train_config.num_steps=77"
    finished = holdfast("check", "old.config", "--set", option)
    assert option in shlex.split(finished.out.splitlines()[-1])


def test_each_path_is_told_with_what_was_found(folder: Path):
    shown = words(holdfast("check", "old.config").out)
    assert "train data my data's/train.record" in shown
    assert "evaluation data my data's/test.record" in shown
    assert "label map my data's/labels.pbtxt" in shown
    assert "random weights" in shown


def test_json_has_the_options_and_the_command(folder: Path):
    finished = holdfast("check", "old.config", "--json")
    suggested = json.loads(finished.out)["suggested"]
    assert suggested["ready"] is True
    assert suggested["set"]["train_input_reader.label_map_path"] == "my data's/labels.pbtxt"
    options = [f"{path}={value}" for path, value in suggested["set"].items()]
    assert shlex.split(suggested["command"])[4::2] == options


def test_a_config_that_is_ready_gets_no_advice(folder: Path):
    command = json.loads(holdfast("check", "old.config", "--json").out)["suggested"]["command"]
    arguments = shlex.split(command)[1:]
    suggested = json.loads(holdfast(*arguments, "--json").out)["suggested"]
    assert (suggested["set"], suggested["command"]) == ({}, None)


def test_what_no_option_can_mend_is_said_and_the_line_is_still_there(folder: Path):
    network = "model.ssd.feature_extractor.type=ssd_mobilenet_v2_mnasfpn"
    finished = holdfast("check", "old.config", "--set", network)
    shown = words(finished.out)
    assert "These options leave 2 errors: model.ssd.feature_extractor.type" in shown
    assert finished.out.splitlines()[-1].startswith("holdfast check old.config")


def test_a_batch_made_for_accelerators_is_said_to_be_large(folder: Path):
    large = holdfast("check", "old.config", "--set", "train_config.batch_size=512")
    assert "`holdfast plan` with the same options says what fits" in words(large.out)
    assert "holdfast plan" not in holdfast("check", "old.config").out


def test_an_unreadable_config_gets_no_advice(folder: Path):
    (folder / "old.config").write_text("model {")
    finished = holdfast("check", "old.config", "--json")
    assert finished.code == 2
    suggested = json.loads(finished.out)["suggested"]
    assert (suggested["command"], suggested["ready"]) == (None, False)
