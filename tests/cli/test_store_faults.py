"""Every command on a store that refuses or is dead: one message, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.commands import CONFIG, holdfast, words
from tests.fake_store import dead_environment

COMMANDS = {
    "check": ("check", "gs://cells/pipeline.config"),
    "inspect": ("inspect", "local.config", "--no-sheet"),
    "inspect records": ("inspect", "gs://cells/records/train.record-*", "--no-sheet"),
    "plan": ("plan", "local.config", "--memory", "8GiB"),
    "train": ("train", "local.config", "--run", "run"),
    "train to the store": ("train", "gs://cells/pipeline.config", "--run", "gs://cells/run"),
    "evaluate": ("evaluate", "gs://cells/run"),
    "evaluate a checkpoint": ("evaluate", "local.config", "--checkpoint", "gs://cells/run/ckpt-0"),
    "convert": ("convert", "gs://cells/records/train.record-*", "out"),
    "convert to the store": ("convert", "4@64", "gs://cells/out", "--format", "synthetic"),
    "predict": ("predict", "gs://cells/run", "gs://cells/photos"),
    "predict into the store": ("predict", "run", "photos", "--out", "gs://cells/found"),
    "new": (
        "new",
        "fpnlite_320",
        "--data",
        "4@64",
        "--format",
        "synthetic",
        "--out",
        "gs://cells/new",
    ),
    "doctor": ("doctor", "gs://cells/run"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a config of this machine whose data is in the store."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "local.config").write_text(CONFIG.replace('"records/', '"gs://cells/records/'))
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_a_store_that_denies_is_told_by_every_command(store, folder, name):
    store.fault = lambda request: 403
    finished = holdfast(*COMMANDS[name])
    said = words(finished.out + finished.err)
    assert "(403)" in said
    assert "gs://cells" in said
    assert "Storage Object" in said
    assert finished.code == 2
    assert not (folder / "run").exists()
    assert not (folder / "out").exists()


FAULTS = {"503": "does not work at the moment (503)", "dead": "cannot be reached"}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_store_that_is_away_is_told_by_every_command(store, folder, name, fault):
    store.fault = lambda request: 503
    away = dead_environment(folder) if fault == "dead" else {}
    finished = subprocess.run(
        [sys.executable, "-m", "holdfast", *COMMANDS[name]],
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | away,
        timeout=300,
    )
    said = words(finished.stdout + finished.stderr)
    assert FAULTS[fault] in said
    assert "gs://cells" in said
    assert "Traceback" not in said
    assert finished.returncode == 2
