"""A run's folder stands in for the training: written by hand, pushed, killed, fetched again."""

import shutil
from pathlib import Path

import pytest

from holdfast.errors import HoldfastError
from holdfast.runs import run_mirror
from holdfast.runs.manifest import RunManifest
from holdfast.runs.run import Run, is_run
from holdfast.runs.run_mirror import LostRunError, RunMirror, run_folder
from holdfast.store.store_errors import StoreError

URL = "gs://cells/runs/one"
PREFIX = "runs/one/"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(run_mirror, "_LAST_SECONDS", 0.5)


def opened(told: list[str] | None = None) -> RunMirror:
    return RunMirror(URL, (told if told is not None else []).append)


def another_machine(monkeypatch, tmp_path: Path) -> None:
    """From here on, the disk is empty."""
    number = len(list(tmp_path.glob("cache*")))
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / f"cache{number}"))


def begin(mirror: RunMirror) -> None:
    manifest = RunManifest(config={}, seed=0, versions={}, started="now")
    Run.create(mirror.folder, manifest, "# config\n").close()


def save(mirror: RunMirror, step: int, content: str = "weights") -> Path:
    folder = mirror.folder / "checkpoints" / f"step-{step:08d}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tensors.index").write_text(f"index {step} {content}")
    (folder / "tensors.data-00000-of-00001").write_text(f"{content} {step}")
    (folder / "checkpoint.json").write_text(f'{{"step": {step}}}')
    return folder


def steps(folder: Path) -> list[str]:
    return sorted(each.parent.name for each in folder.glob("checkpoints/*/checkpoint.json"))


def test_an_ordinary_folder_is_its_own_place():
    assert run_folder("runs/one") == Path("runs/one")
    assert run_folder("/gcs/cells/one") == Path("/gcs/cells/one")


def test_a_run_is_uploaded_and_fetched_by_another_machine(store, monkeypatch, tmp_path):
    mirror = opened()
    begin(mirror)
    save(mirror, 500)
    assert mirror.push()
    mirror.close()
    first = mirror.folder
    another_machine(monkeypatch, tmp_path)
    mirror = opened()
    assert mirror.folder != first
    assert is_run(mirror.folder)
    for path in (each for each in first.rglob("*") if each.is_file() and each.name != ".lock"):
        assert (mirror.folder / path.relative_to(first)).read_bytes() == path.read_bytes()
    store.requests.clear()
    assert mirror.push()
    assert not [each for each in store.requests if each.path.startswith("/upload")]  # all is there
    mirror.close()


def test_the_marker_of_a_step_and_the_manifest_are_uploaded_last(store):
    mirror = opened()
    begin(mirror)
    save(mirror, 500)
    mirror.push()
    generations = {name: each.generation for name, each in store.objects["cells"].items()}
    ordered = sorted(generations, key=lambda name: generations[name])
    *others, marker, manifest = [name for name in ordered if not name.endswith(".lock")]
    assert marker.endswith("/checkpoint.json")
    assert manifest == f"{PREFIX}manifest.json"
    assert len(others) == 3
    mirror.close()


def test_an_upload_that_is_cut_leaves_the_step_before(store, monkeypatch, tmp_path):
    mirror = opened()
    begin(mirror)
    save(mirror, 500)
    assert mirror.push()
    save(mirror, 1000)
    uploads: list[str] = []

    def fault(request):
        if request.path.startswith("/upload"):
            uploads.append(request.path)
            return 403 if len(uploads) == 2 else None
        return None

    store.fault = fault
    assert not mirror.push()
    assert "may not" in mirror.problem
    assert any("step-00001000" in name for name in store.names("cells"))  # a part of it
    store.fault = lambda request: None
    mirror.close()
    another_machine(monkeypatch, tmp_path)
    mirror = opened()
    assert steps(mirror.folder) == ["step-00000500"]
    assert [each.name for each in (mirror.folder / "checkpoints").iterdir()] == ["step-00000500"]
    assert mirror.push()  # and the part is gone
    assert not any("step-00001000" in name for name in store.names("cells"))
    mirror.close()


def test_what_failed_is_uploaded_the_next_time(store):
    mirror = opened()
    begin(mirror)
    store.fault = lambda request: 403 if request.path.startswith("/upload") else None
    save(mirror, 500)
    assert not mirror.push()
    assert len(mirror.finish()) == 5
    store.fault = lambda request: None
    assert mirror.push()
    assert mirror.finish() == ()
    mirror.close()


def test_checkpoints_that_were_removed_go_from_the_store_marker_first(store):
    mirror = opened()
    begin(mirror)
    folder = save(mirror, 500)
    mirror.push()
    shutil.rmtree(folder)
    save(mirror, 1000)
    store.requests.clear()
    assert mirror.push()
    deleted = [each.path for each in store.requests if each.method == "DELETE"]
    assert len(deleted) == 3
    assert deleted[0].endswith("step-00000500/checkpoint.json")
    assert not any("step-00000500" in name for name in store.names("cells"))
    mirror.close()


def test_a_step_that_is_written_again_is_not_there_meanwhile(store):
    mirror = opened()
    begin(mirror)
    save(mirror, 500)
    mirror.push()
    save(mirror, 500, "other weights, of another past")
    seen = []

    def fault(request):
        if request.path.startswith("/upload"):
            seen.append(any(name.endswith("0/checkpoint.json") for name in store.names("cells")))
        return

    store.fault = fault
    assert mirror.push()
    assert seen[0] is False
    assert any(name.endswith("0/checkpoint.json") for name in store.names("cells"))
    mirror.close()


def test_a_machine_whose_uploads_failed_goes_on_with_its_own(store):
    mirror = opened()
    begin(mirror)
    save(mirror, 500)
    mirror.push()
    save(mirror, 1000)  # not uploaded: killed
    mirror.close()
    told: list[str] = []
    mirror = opened(told)
    assert steps(mirror.folder) == ["step-00000500", "step-00001000"]
    assert told == []
    assert mirror.push()
    assert any("step-00001000" in name for name in store.names("cells"))
    mirror.close()


def test_a_copy_that_another_machine_went_past_is_replaced(store, monkeypatch, tmp_path):
    mirror = opened()
    begin(mirror)
    save(mirror, 500)
    mirror.push()
    mirror.close()
    home = tmp_path / "cache"
    another_machine(monkeypatch, tmp_path)
    mirror = opened()
    save(mirror, 1000)
    mirror.push()
    mirror.close()
    monkeypatch.setenv("HOLDFAST_CACHE", str(home))
    told: list[str] = []
    mirror = opened(told)
    assert steps(mirror.folder) == ["step-00000500", "step-00001000"]
    assert "older" in told[0]
    mirror.close()


def test_a_run_that_was_deleted_in_the_store_begins_anew(store):
    mirror = opened()
    begin(mirror)
    save(mirror, 500)
    mirror.push()
    mirror.close()
    store.objects["cells"].clear()
    mirror = opened()
    assert not is_run(mirror.folder)
    mirror.close()


def test_a_making_that_was_cut_off_begins_anew(store):
    store.put("cells", f"{PREFIX}pipeline.config", b"# half a run")
    mirror = opened()
    assert not is_run(mirror.folder)
    begin(mirror)
    assert mirror.push()
    mirror.close()


def test_a_place_with_other_things_is_refused_and_left_alone(store):
    store.put("cells", f"{PREFIX}photo.jpg", b"")
    with pytest.raises(HoldfastError, match=r"not a run: it holds photo\.jpg"):
        opened()
    assert store.names("cells") == [f"{PREFIX}photo.jpg"]


def test_only_one_process_of_a_machine_trains(store):
    mirror = opened()
    with pytest.raises(HoldfastError, match="is training in"):
        opened()
    mirror.close()


def test_a_run_that_was_taken_over_is_not_written_to(store):
    mirror = opened()
    begin(mirror)
    mirror._lock.is_lost = True
    with pytest.raises(LostRunError, match="took over"):
        mirror.push()
    assert store.names("cells", f"{PREFIX}manifest") == []
    mirror.close()


@pytest.mark.parametrize("fault", [403, 503])
def test_a_store_that_refuses_ends_the_making(store, monkeypatch, fault):
    monkeypatch.setattr("holdfast.store.store_client._PATIENCE_SECONDS", 0.3)
    store.fault = lambda request: fault
    with pytest.raises(StoreError) as told:
        opened()
    assert told.value.code == fault
    store.fault = lambda request: None
    opened().close()  # nothing is left locked
