from pathlib import Path

import pytest

from holdfast.errors import HoldfastError
from holdfast.runs.fetched_run import local_folder, local_path


def test_paths_of_this_machine_stay():
    assert local_path("runs/one") == Path("runs/one")
    assert local_folder("/gcs/cells/one") == Path("/gcs/cells/one")


def test_of_a_run_only_whole_checkpoints_are_brought(store):
    names = (
        *("manifest.json", "events.jsonl", ".lock", "tensorboard/events.out"),
        *("checkpoints/step-00000002/tensors.index", "checkpoints/step-00000002/checkpoint.json"),
        "checkpoints/step-00000004/tensors.index",
    )
    for name in names:
        store.put("cells", f"runs/one/{name}", b"{}")
    copy = local_folder("gs://cells/runs/one")
    found = sorted(str(each.relative_to(copy)) for each in copy.rglob("*") if each.is_file())
    assert found == [
        *("checkpoints/step-00000002/checkpoint.json", "checkpoints/step-00000002/tensors.index"),
        *("events.jsonl", "manifest.json"),
    ]


def test_of_another_folder_all_is_brought(store):
    store.put("cells", "photos/a.jpg", b"a")
    store.put("cells", "photos/.b.jpg", b"b")
    store.put("cells", "photos/", b"")  # as the console makes folders
    copy = local_path(Path("gs://cells/photos"))
    assert sorted(each.name for each in copy.iterdir()) == [".b.jpg", "a.jpg"]


def test_a_file_is_brought_where_it_is_to_be_read_and_left_where_it_is_a_config(store):
    store.put("cells", "photos/a.jpg", b"a")
    assert local_path("gs://cells/photos/a.jpg").read_bytes() == b"a"
    assert str(local_folder("gs://cells/photos/a.jpg")) == "gs:/cells/photos/a.jpg"


def test_what_is_not_there_is_told(store):
    with pytest.raises(HoldfastError, match="There is no gs://cells/photo"):
        local_path("gs://cells/photo")
