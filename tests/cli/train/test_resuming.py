"""Trainings that end before their end, and the same command that goes on."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.runs.run import Run

from ..commands import holdfast, steps_of, words


def test_a_finished_run_says_so_and_its_json_stands_alone(trained):
    finished = holdfast("train", trained.config, "--run", trained.run, "--json")
    assert finished.code == 0
    document = json.loads(finished.out)
    assert set(document) >= {
        *("run", "steps", "metrics", "seconds", "predicted_peak_bytes", "measured_peak_bytes"),
    }
    assert (document["run"], document["steps"], document["ended"]) == (str(trained.run), 4, "done")
    evaluations = [
        each for each in Run.open(trained.run).read_events() if each.kind == "evaluation"
    ]
    assert document["metrics"] == evaluations[-1].values["metrics"]
    assert "DetectionBoxes_Precision/mAP" in document["metrics"]
    assert document["best"]["step"] in (2, 4)
    assert "all 4 are done already" in words(finished.err)


def test_a_run_that_was_moved_with_its_data_goes_on_by_its_own_config(trained, tmp_path):
    shutil.copytree(trained.config.parent, tmp_path / "moved")
    run = tmp_path / "moved" / trained.run.name
    finished = holdfast("train", run / "pipeline.config", "--run", run, "--steps", 5)
    assert finished.code == 0, finished.err
    assert "resuming after step 4 of 5" in words(finished.out)
    assert "weights step 4 of this run" in words(finished.out)
    assert steps_of(run) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (("--set", "train_config.batch_size=8"), "train_config.batch_size: 4 -> 8"),
        (("--seed", 1), "seed: 0 -> 1"),
        (("--class-weights", "auto"), 'class_weights: null -> "auto"'),
    ],
)
def test_a_changed_config_is_refused_with_the_difference(trained, change, difference):
    finished = holdfast("train", trained.config, "--run", trained.run, *change)
    assert finished.code == 2
    assert difference in finished.err
    assert "another --run" in words(finished.err)


def start(*arguments: object) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if "MALLOC" not in name}
    return subprocess.Popen(
        [sys.executable, "-m", "holdfast", *map(str, arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_terminated_training_saves_says_how_to_go_on_and_has_code_1(trained, tmp_path):
    run = tmp_path / "run"
    process = start("train", trained.config, "--run", run, "--steps", 100000)
    events = run / "events.jsonl"
    while process.poll() is None and not (events.exists() and "losses" in events.read_text()):
        time.sleep(0.05)
    child = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    numbers = child.read_text().split() if child.exists() else []
    variables = [Path(f"/proc/{number}/environ").read_text() for number in numbers]
    maps = Path(f"/proc/{process.pid}/maps")
    loaded = maps.read_text() if maps.exists() else ""
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate()
    assert process.returncode == 1, err
    done = steps_of(run)[-1]
    assert (run / "checkpoints" / f"step-{done:08d}").is_dir()
    assert "SIGTERM: stopping" in words(out)
    assert "Interrupted, and saved" in out
    assert f"holdfast train {trained.config} --run {run}" in out
    assert "Traceback" not in err
    assert not any(f"/{name}/" in loaded for name in ("tensorflow", "keras", "numpy"))
    for each in variables:  # of the process that trained
        assert "MALLOC_MMAP_THRESHOLD_=65536" in each.split("\0")


@pytest.mark.slow
def test_an_evaluation_that_was_killed_is_done_by_the_next_process(trained, tmp_path):
    folder = tmp_path / "trained"
    shutil.copytree(trained.config.parent, folder)
    events = folder / "run" / "events.jsonl"
    lines = events.read_text().splitlines(keepends=True)
    evaluations = [line for line in lines if '"kind":"evaluation"' in line]
    events.write_text("".join(line for line in lines if line != evaluations[-1]))
    finished = holdfast("train", folder / "pipeline.config", "--run", folder / "run", "--json")
    assert finished.code == 0, finished.err
    assert "evaluation after step 4" in finished.err
    assert "DetectionBoxes_Precision/mAP" in json.loads(finished.out)["metrics"]
    assert events.read_text().count('"kind":"evaluation"') == len(evaluations)


@pytest.mark.slow
def test_patience_outlives_the_process(trained, tmp_path):
    folder = tmp_path / "trained"
    shutil.copytree(trained.config.parent, folder)
    events = folder / "run" / "events.jsonl"
    name = '"DetectionBoxes_Precision/mAP":'
    events.write_text(re.sub(f"{name}[^,]+", f"{name}1.0", events.read_text(), count=1))
    # The first of two evaluations is now the best that there can be: one was waited for.
    again = ("train", folder / "pipeline.config", "--run", folder / "run", "--steps", 9)
    for _ in range(2):  # what has stopped stays so
        finished = holdfast(*again, "--evaluate-every", 1, "--patience", 2)
        assert finished.code == 0, finished.err
        assert "Stopped early" in finished.out
        assert steps_of(folder / "run") == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("moment", ["save", pytest.param("finish", marks=pytest.mark.slow)])
def test_a_run_folder_that_is_deleted_under_a_training_is_said_and_not_made_again(
    trained, tmp_path, monkeypatch, moment
):
    from holdfast.training.journal import Journal

    folder = tmp_path / "trained"
    shutil.copytree(trained.config.parent, folder)
    usual = getattr(Journal, moment)

    def delete_first(self, *arguments, **keywords):
        shutil.rmtree(folder / "run")
        return usual(self, *arguments, **keywords)

    monkeypatch.setattr(Journal, moment, delete_first)
    finished = holdfast("train", folder / "pipeline.config", "--run", folder / "run", "--steps", 5)
    assert finished.code == 1
    assert "runwasdeletedormovedwhileitwasbeingtrainedin" in "".join(finished.err.split())
    assert not (folder / "run").exists()
    assert (folder / "records" / "label_map.pbtxt").exists()


@pytest.mark.slow
def test_a_folder_of_checkpoints_that_is_deleted_is_made_again(trained, tmp_path, monkeypatch):
    from holdfast.training.journal import Journal

    folder = tmp_path / "trained"
    shutil.copytree(trained.config.parent, folder)
    usual = Journal.save

    def delete_first(self, session, step):
        shutil.rmtree(folder / "run" / "checkpoints")
        return usual(self, session, step)

    monkeypatch.setattr(Journal, "save", delete_first)
    finished = holdfast("train", folder / "pipeline.config", "--run", folder / "run", "--steps", 5)
    assert finished.code == 0, finished.err
    assert [path.name for path in (folder / "run" / "checkpoints").iterdir()] == ["step-00000005"]
