import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.errors import HoldfastError
from holdfast.runs.manifest import RunManifest
from holdfast.runs.run import Run, is_run

PROJECT = Path(__file__).parents[2]
MANIFEST = RunManifest(
    config={"train_config": {"batch_size": 8, "optimizer": {"adam_optimizer": {}}}},
    seed=7,
    versions={"holdfast": "0.1.0", "tensorflow": "2.21.0"},
    started="2026-01-02T03:04:05+00:00",
    facts={"num_replicas": 2, "is_deterministic": True},
    plan={"fits": True, "items": {"weights": 1000}},
    predicted_peak_bytes=5000,
)
CONFIG = "train_config {\n  batch_size: 8\n}\n"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "runs" / "one"


def test_a_new_run_holds_manifest_plan_and_config(folder):
    with Run.create(folder, MANIFEST, CONFIG):
        assert (folder / "pipeline.config").read_text() == CONFIG
        assert json.loads((folder / "plan.json").read_text()) == MANIFEST.plan
        manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["seed"] == 7
    assert manifest["config"] == MANIFEST.config


def test_an_opened_run_has_the_manifest_it_was_made_with(folder):
    Run.create(folder, MANIFEST, CONFIG).close()
    run = Run.open(folder)
    assert run.manifest == MANIFEST
    assert run.checkpoints == folder / "checkpoints"
    assert run.tensorboard == folder / "tensorboard"


def test_a_run_without_a_plan_has_no_plan_file(folder):
    with Run.create(folder, replace(MANIFEST, plan=None), CONFIG) as run:
        assert not run.plan_path.exists()


def test_a_run_is_not_made_over_another(folder):
    Run.create(folder, MANIFEST, CONFIG).close()
    with pytest.raises(HoldfastError, match="is a run already"):
        Run.create(folder, replace(MANIFEST, seed=8), "")
    with Run.resume(folder) as run:  # the refusal keeps no lock
        assert run.manifest.seed == 7
        assert run.config_path.read_text() == CONFIG


def test_a_users_own_config_is_never_overwritten(folder):
    folder.mkdir(parents=True)
    (folder / "pipeline.config").write_text("mine")
    with pytest.raises(HoldfastError, match=r"it holds pipeline\.config"):
        Run.create(folder, MANIFEST, CONFIG)
    assert (folder / "pipeline.config").read_text() == "mine"
    assert os.listdir(folder) == ["pipeline.config"]


def test_a_run_whose_manifest_was_lost_is_not_begun_anew_over_its_events(folder):
    with Run.create(folder, MANIFEST, CONFIG) as run:
        run.events.append(1, "step")
    (folder / "manifest.json").unlink()
    with pytest.raises(HoldfastError, match=r"it holds events\.jsonl"):
        Run.create(folder, MANIFEST, CONFIG)


def test_an_empty_folder_becomes_a_run(folder):
    folder.mkdir(parents=True)
    Run.create(folder, MANIFEST, CONFIG).close()
    assert is_run(folder)


def test_a_file_in_the_place_of_the_folder_is_an_error(folder):
    folder.parent.mkdir()
    folder.write_text("")
    with pytest.raises(HoldfastError, match="cannot be made: File exists"):
        Run.create(folder, MANIFEST, CONFIG)


@pytest.mark.parametrize("opened", [Run.open, Run.resume])
def test_a_folder_that_is_no_run_is_an_error_and_left_alone(folder, opened):
    folder.mkdir(parents=True)
    with pytest.raises(HoldfastError, match=r"no manifest\.json"):
        opened(folder)
    assert os.listdir(folder) == []


def test_what_differs_from_the_config_of_the_run_is_listed(folder):
    with Run.create(folder, MANIFEST, CONFIG) as run:
        assert run.differences(MANIFEST.config) == ()
        changed = {"train_config": {"batch_size": 4, "optimizer": {"adam_optimizer": {}}}}
        assert run.differences(changed) == ("train_config.batch_size: 8 -> 4",)


def test_the_measured_peak_is_added_to_the_manifest(folder):
    with Run.create(folder, MANIFEST, CONFIG) as run:
        run.update(measured_peak_bytes=4800)
        assert run.manifest.measured_peak_bytes == 4800
    assert Run.open(folder).manifest == replace(MANIFEST, measured_peak_bytes=4800)


def test_another_plan_replaces_both_copies(folder):
    with Run.create(folder, MANIFEST, CONFIG) as run:
        run.update(plan={"fits": False})
    assert json.loads((folder / "plan.json").read_text()) == {"fits": False}
    assert Run.open(folder).manifest.plan == {"fits": False}


def test_a_run_that_is_read_cannot_be_written(folder):
    Run.create(folder, MANIFEST, CONFIG).close()
    run = Run.open(folder)
    with pytest.raises(HoldfastError, match=r"Run\.resume"):
        run.update(seed=1)
    with pytest.raises(HoldfastError, match=r"Run\.resume"):
        _ = run.events


def test_a_run_can_be_read_while_it_is_written(folder):
    with Run.create(folder, MANIFEST, CONFIG) as run:
        run.events.append(1, "step", loss=0.5)
        assert [event.values for event in Run.open(folder).read_events()] == [{"loss": 0.5}]


def test_a_run_without_events_has_none(folder):
    Run.create(folder, MANIFEST, CONFIG).close()
    assert list(Run.open(folder).read_events()) == []


def test_a_run_in_use_is_refused_and_free_again_when_closed(folder):
    run = Run.create(folder, MANIFEST, CONFIG)
    with pytest.raises(HoldfastError, match="Another process"):
        Run.resume(folder)
    run.close()
    run.close()
    Run.resume(folder).close()


def test_a_kill_at_any_file_operation_leaves_a_run_that_resumes_or_can_be_made(tmp_path):
    script = subprocess.run(
        [sys.executable, "-m", "tests.runs.killed_runs", str(tmp_path)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert script.returncode == 0, script.stderr


def test_a_run_behind_a_url_is_refused_and_makes_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(HoldfastError, match="gs://bucket/run is remote"):
        Run.create(Path("gs://bucket/run"), MANIFEST, CONFIG)
    assert not list(tmp_path.iterdir())


def test_a_run_that_is_discarded_leaves_nothing_behind(folder):
    run = Run.create(folder, MANIFEST, CONFIG)
    run.events.append(0, "note", text="nothing was trained")
    run.checkpoints.mkdir()
    run.discard()
    assert not folder.exists()
    assert folder.parent.is_dir()
    Run.create(folder, MANIFEST, CONFIG).close()


def test_a_run_that_is_discarded_leaves_what_others_put_there(folder):
    folder.mkdir(parents=True)
    (folder / ".hidden").write_text("of a user")
    Run.create(folder, MANIFEST, CONFIG).discard()
    assert [path.name for path in folder.iterdir()] == [".hidden"]
