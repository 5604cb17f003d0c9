"""A run in the store that is killed again and again trains as one on a disk that is not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.commands import CONFIG
from tests.fake_store import CUT, FakeStore, Request

from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.runs.fetched_run import local_folder
from holdfast.runs.run import Run

pytestmark = pytest.mark.slow
STEPS = 12
URL = "gs://cells/runs/one"
UPLOAD = "/upload/storage/v1/b/cells/o"


@pytest.fixture
def data(tmp_path: Path, store: FakeStore) -> Path:
    """Records and a config, here and in the store."""
    folder = tmp_path / "data"
    source = open_source("20@96", format_name="synthetic", seed=1)
    convert(source, str(folder / "records"), val=0.2, seed=0)
    (folder / "pipeline.config").write_text(CONFIG)
    store.put_folder("cells", "data", folder)
    return folder


def start(folder: Path, config: str, run: str, *options: str) -> subprocess.Popen[str]:
    command = ("-m", "holdfast", "train", config, "--run", run, "--steps", str(STEPS))
    often = ("--checkpoint-every", "2", "--evaluate-every", str(STEPS), "--deterministic")
    return subprocess.Popen(
        [sys.executable, *command, *often, *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


def finish(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate(timeout=900)
    assert process.returncode == 0, out
    return out


def losses(run: Path) -> list[dict[str, float]]:
    events = [event for event in Run.open(run).read_events() if event.kind == "step"]
    assert [event.step for event in events] == list(range(1, STEPS + 1))
    return [event.values["losses"] for event in events]


def kill_after(store: FakeStore, process: subprocess.Popen[str], uploads: int) -> None:
    """Kill a training at its upload with this number."""
    seen = 0

    def fault(request: Request) -> str | None:
        nonlocal seen
        if request.method == "POST" and request.path == UPLOAD:
            seen += 1
            if seen >= uploads:
                process.send_signal(signal.SIGKILL)
                return CUT
        return None

    store.fault = fault
    process.communicate(timeout=900)
    store.fault = lambda request: None
    assert process.returncode == -signal.SIGKILL


def test_a_run_in_the_store_that_is_killed_trains_as_one_on_a_disk(
    store, data, tmp_path, monkeypatch
):
    finish(start(data, str(data / "pipeline.config"), str(tmp_path / "whole")))
    empty = tmp_path / "nothing here"
    empty.mkdir()
    plan = ("--plan", str(tmp_path / "whole" / "plan.json"))
    config = "gs://cells/data/pipeline.config"
    for uploads in (3, 9, 14, 20, 23):  # the lock is the first, and its renewals count
        kill_after(store, start(empty, config, URL, *plan), uploads)
    assert any("/train.record" in each.path for each in store.requests)  # by TensorFlow itself
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "another machine"))
    out = finish(start(empty, config, URL, *plan))
    assert "goes on with the run" in out  # it waited for the lock to become stale
    run = local_folder(URL)
    assert losses(run) == losses(tmp_path / "whole")  # to the last bit
    names = store.names("cells", "runs/one/checkpoints/")
    markers = [name for name in names if name.endswith("checkpoint.json")]
    assert len(names) == 3 * len(markers)
    assert f"runs/one/checkpoints/step-{STEPS:08d}/checkpoint.json" in markers
    assert not store.names("cells", "runs/one/.lock")


def test_uploads_that_fail_do_not_stop_a_training(store, data, tmp_path):
    denied = 0

    def fault(request: Request) -> int | None:
        nonlocal denied
        if request.method == "POST" and request.path == UPLOAD:
            denied += 1
            return 403 if denied > 1 else None  # the lock can be taken
        return None

    store.fault = fault
    process = start(data, str(data / "pipeline.config"), URL, "--json")
    out, _ = process.communicate(timeout=900)
    assert process.returncode == 1
    assert "Not uploaded: gs://cells/runs/one" in " ".join(out.split())
    document = json.loads(out[out.index("\n{") :])
    assert document["run"] == URL
    assert document["steps"] == STEPS
    assert "manifest.json" in document["not_uploaded"]
    events = [event.kind for event in Run.open(document["folder"]).read_events()]
    assert "upload_failed" in events
    store.fault = lambda request: None
    finish(start(data, str(data / "pipeline.config"), URL))  # uploads what is missing
    assert losses(local_folder(URL)) == losses(Path(document["folder"]))
