"""The command `search`: its table, document and exit codes; real trainings in the slow tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.tuning import pretended_holdfast

from holdfast.config.load import load_config
from holdfast.tuning import trial_process

from ..commands import holdfast, words

RATE = "learning-rate=log:1e-4..1"


@pytest.fixture
def pretended(monkeypatch):
    """Trainings in a moment."""
    monkeypatch.setattr(trial_process, "holdfast_command", pretended_holdfast.command)


def test_the_document_is_all_that_standard_output_has(trained, tmp_path, pretended):
    out = tmp_path / "search"
    ended = holdfast(
        *("search", trained.config, "--over", RATE, "--trials", 3, "--steps", 9),
        *("--out", out, "--json"),
    )
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    assert {"best", "trials"} <= document.keys()
    assert {"settings", "metric", "run"} <= document["best"].keys()
    assert len(document["trials"]) == 3
    assert document["best"]["metric"] == max(each["metric"] for each in document["trials"])
    assert load_config(out / "best.config").train_config.batch_size == 4
    assert Path(document["picture"]).read_bytes().startswith(b"\x89PNG")
    assert "trial 1 of 3: begins: learning-rate" in ended.err


def test_people_see_the_trials_the_best_one_and_what_to_do_next(trained, tmp_path, pretended):
    out = tmp_path / "search"
    ended = holdfast(
        *("search", trained.config, "--over", "learning-rate=0.01,0.9", "--trials", 5),
        *("--steps", 9, "--out", out),
    )
    assert ended.code == 0
    text = words(ended.out)
    assert "searching over learning-rate=0.01,0.9" in text
    assert "evaluation 9 of 9: 1" in text
    assert "failed: The loss is not a finite number." in text
    assert "trial learning-rate mAP state" in text
    assert f"Next: holdfast train {out / 'best.config'} --run {out / 'best'}" in text
    again = holdfast(
        *("search", trained.config, "--over", "learning-rate=0.01,0.9", "--trials", 5),
        *("--steps", 9, "--out", out),
    )
    assert "begins" not in again.out  # all are done


def test_the_range_test_narrows_the_range(trained, tmp_path, pretended):
    ended = holdfast(
        *("search", trained.config, "--learning-rate-range", "--trials", 1, "--steps", 9),
        *("--out", tmp_path / "search"),
    )
    assert "searching over learning-rate=log:0.002..0.05" in words(ended.out)


def test_a_search_in_which_nothing_trains_ends_with_1(trained, tmp_path, pretended):
    ended = holdfast(
        *("search", trained.config, "--over", "learning-rate=0.8,0.9", "--trials", 2),
        *("--steps", 9, "--out", tmp_path / "search"),
    )
    assert ended.code == 1
    assert "No trial was trained to its end." in ended.out


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ((), "Nothing is searched over"),
        (("--over", "train_config.batch_sise=1,2"), "did you mean batch_size"),
        (("--over", "learning-rate"), "FIELD=log:1e-4..1e-1"),
        (("--over", "anchors", "--set", "train_config.batch_size=no"), "batch_size"),
    ],
)
def test_what_cannot_be_searched_is_said_before_anything_is_written(
    trained, tmp_path, options, what
):
    ended = holdfast("search", trained.config, *options, "--out", tmp_path / "search")
    assert ended.code == 2
    assert what in words(ended.err)
    assert not (tmp_path / "search").exists()


def test_a_search_that_is_told_to_stop_stops_and_goes_on_later(trained, tmp_path):
    command = search_command(trained.config, tmp_path / "search", "--trials", "4")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        wait_for(tmp_path / "search", 2, process)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate()
    assert process.returncode == 1
    assert "Stopped, and saved." in out
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    assert "goes on" in done.stdout
    assert done.stdout.count(" begins: ") == 4 - out.count(" begins: ")


def search_command(config: Path, out: Path, *options: str) -> list[str]:
    given = ("search", str(config), "--over", RATE, "--steps", "9", "--out", str(out), *options)
    return [sys.executable, str(pretended_holdfast.__file__), *given]


def wait_for(out: Path, runs: int, process: subprocess.Popen) -> None:
    """Wait until so many trials have begun to train."""
    while len(list(out.glob("trials/*/manifest.json"))) < runs:
        assert process.poll() is None, "it was over before it could be stopped"
        time.sleep(0.02)


@pytest.mark.slow
def test_real_trainings_killed_twice_are_all_done_in_the_end(trained, tmp_path):
    out = tmp_path / "search"
    command = [
        *(sys.executable, "-m", "holdfast", "search", str(trained.config), "--json"),
        *("--over", "learning-rate=log:1e-3..1e-1", "--over", "train_config.batch_size=2,4"),
        *("--trials", "12", "--steps", "3", "--evaluate-every", "1", "--out", str(out)),
    ]
    for begun in (2, 6):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            wait_for(out, begun, process)
            os.kill(process.pid, signal.SIGKILL)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    trials = json.loads(done.stdout)["trials"]
    assert [each["number"] for each in trials] == list(range(12))
    assert {each["state"] for each in trials} <= {"complete", "pruned"}


@pytest.mark.slow
def test_a_real_trial_that_cannot_fit_is_skipped_with_the_reason(trained, tmp_path):
    height = "model.ssd.image_resizer.fixed_shape_resizer.height"
    ended = holdfast(
        *("search", trained.config, "--over", f"{height}=96,400000", "--trials", 4),
        *("--steps", 1, "--memory", "2GiB", "--out", tmp_path / "search", "--json"),
    )
    assert ended.code == 0, ended.err
    trials = json.loads(ended.out)["trials"]
    large = [each for each in trials if each["settings"][height] == "400000"]
    assert large
    assert {each["state"] for each in large} == {"skipped"}
    assert all("there are 2 GiB" in each["reason"] for each in large)
