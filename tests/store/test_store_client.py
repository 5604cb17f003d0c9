import itertools
import sys

import pytest
from tests.fake_store import CUT, dead_environment

from holdfast.errors import HoldfastError
from holdfast.store.gs_place import GsPlace
from holdfast.store.store_client import StoreClient
from holdfast.store.store_errors import StoreError

PLACE = GsPlace("cells", "runs/one")


def test_objects_are_written_read_listed_and_deleted(store):
    client = StoreClient()
    generation = client.write(PLACE.below("a.txt"), b"first")
    client.write(PLACE.below("deep/b.txt"), b"")
    assert client.read(PLACE.below("a.txt")) == b"first"
    assert client.read(PLACE.below("deep/b.txt")) == b""
    found = client.objects(PLACE)
    assert sorted(found) == ["a.txt", "deep/b.txt"]
    assert found["a.txt"] == (generation, 5)
    assert client.find(PLACE.below("a.txt")) == (generation, 5)
    client.delete(PLACE.below("a.txt"))
    client.delete(PLACE.below("a.txt"))  # gone already: fine
    assert client.find(PLACE.below("a.txt")) is None
    assert client.objects(GsPlace("cells", "run")) == {}  # runs/ is another folder


def test_a_large_file_comes_back_as_it_was(store, tmp_path):
    content = bytes(range(256)) * 40_000  # more than one request
    (tmp_path / "large").write_bytes(content)
    client = StoreClient()
    client.upload(PLACE.below("large"), tmp_path / "large")
    client.download(PLACE.below("large"), tmp_path / "there" / "copy")
    assert (tmp_path / "there" / "copy").read_bytes() == content
    assert [each.name for each in (tmp_path / "there").iterdir()] == ["copy"]


def test_a_write_only_if_absent_is_refused_when_it_is_there(store):
    client = StoreClient()
    generation = client.write(PLACE, b"mine", only_if=0)
    with pytest.raises(StoreError) as refused:
        client.write(PLACE, b"theirs", only_if=0)
    assert refused.value.code == 412
    assert client.write(PLACE, b"renewed", only_if=generation) != generation


@pytest.mark.parametrize("fault", [429, 500, 503, CUT])
def test_what_passes_is_tried_again(store, fault):
    store.put("cells", "a", b"content")
    faults = itertools.chain([fault, fault], itertools.repeat(None))
    store.fault = lambda request: next(faults)
    assert StoreClient().read(GsPlace("cells", "a")) == b"content"


@pytest.mark.parametrize(
    ("fault", "what"), [(401, "credentials"), (403, "may not"), (503, "does not work (503)")]
)
def test_what_stays_is_told(store, fault, what):
    store.fault = lambda request: 503 if fault == 503 else fault
    client = StoreClient(patience_seconds=0.5)
    for call in (client.read, client.find, client.objects, client.delete):
        with pytest.raises(StoreError) as told:
            call(PLACE)
        assert told.value.message.startswith("gs://cells/runs/one: ")
        assert told.value.code == fault
    with pytest.raises(StoreError):
        client.write(PLACE, b"")


def test_a_missing_bucket_is_told(store):
    with pytest.raises(StoreError, match="no such object or bucket"):
        StoreClient().read(GsPlace("other", "a"))


def test_a_dead_store_is_told(store, tmp_path, monkeypatch):
    for name, value in dead_environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    client = StoreClient(patience_seconds=0.5)
    with pytest.raises(StoreError, match=r"cannot be reached \(no connection\)") as told:
        client.read(PLACE)
    assert told.value.code is None


def test_nothing_is_left_of_a_download_that_fails(store, tmp_path):
    with pytest.raises(StoreError):
        StoreClient().download(PLACE, tmp_path / "there" / "copy")
    assert list((tmp_path / "there").iterdir()) == []


def test_a_full_disk_is_not_the_stores_fault(store, tmp_path):
    with pytest.raises(FileNotFoundError):
        StoreClient().upload(PLACE, tmp_path / "missing")


def test_without_the_package_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "google.cloud.storage", None)
    monkeypatch.setitem(sys.modules, "google.cloud", None)
    with pytest.raises(HoldfastError, match=r"pip install \"holdfast\[cloud\]\""):
        StoreClient()
