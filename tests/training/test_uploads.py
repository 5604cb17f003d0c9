from pathlib import Path

import pytest

from holdfast.runs.manifest import RunManifest
from holdfast.runs.run import Run
from holdfast.training.surviving.failure import TrainingFailedError
from holdfast.training.uploads import Uploads, open_uploads

URL = "gs://cells/runs/one"


def begin(uploads: Uploads) -> None:
    manifest = RunManifest(config={}, seed=0, versions={}, started="now")
    Run.create(uploads.folder, manifest, "# config\n").close()


def test_a_folder_of_this_machine_is_not_uploaded(tmp_path):
    with open_uploads(tmp_path / "run", print) as uploads:
        assert uploads.folder == tmp_path / "run"
        uploads.push(pytest.fail)
        uploads.finish()
        assert uploads.missing == ()


def test_what_was_written_is_uploaded_however_the_training_ends(store):
    def train() -> None:
        with open_uploads(URL, print) as uploads:
            begin(uploads)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train()
    assert "runs/one/manifest.json" in store.names("cells")
    assert "runs/one/.lock" not in store.names("cells")


def test_a_failure_is_told_once_and_heard_each_time_until_it_is_over(store):
    told: list[str] = []
    heard: list[str] = []
    with open_uploads(URL, told.append) as uploads:
        begin(uploads)
        store.fault = lambda request: 403 if request.method == "POST" else None
        uploads.push(heard.append)
        uploads.push(heard.append)
        assert len(heard) == 2
        assert len(told) == 1
        assert str(uploads.folder) in told[0]
        uploads.finish()
        assert "manifest.json" in uploads.missing
        store.fault = lambda request: None
        uploads.push(heard.append)
        assert "uploaded again" in told[1]
        uploads.finish()
        assert uploads.missing == ()


def test_a_run_that_another_process_took_ends_the_training(store):
    def train() -> None:
        with open_uploads(URL, print) as uploads:
            begin(uploads)
            uploads._mirror._lock.is_lost = True
            uploads.push(print)

    with pytest.raises(TrainingFailedError, match="took over"):
        train()
    assert "runs/one/manifest.json" not in store.names("cells")


def test_only_the_first_of_several_processes_uploads(store, monkeypatch):
    monkeypatch.setattr("holdfast.training.uploads.is_chief", lambda: False)
    with open_uploads(Path(URL), print) as uploads:
        begin(uploads)
        uploads.push(pytest.fail)
    assert store.names("cells") == []
