from __future__ import annotations

import itertools
import os

import pytest
from tests.fake_store import CUT

from holdfast.data.records import data_files
from holdfast.errors import HoldfastError
from holdfast.store.store_errors import StoreError


@pytest.fixture
def tree(tmp_path):
    for name in ("b/2.txt", "a [1]/1.txt", "top.txt", ".hidden/3.txt", "b/.secret"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    return str(tmp_path)


def test_home_and_environment_variables_are_replaced(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("DATA", "cells")
    assert data_files.expand("~/$DATA/${DATA}.record") == "/home/me/cells/cells.record"


def test_walking_gives_sorted_relative_paths_and_no_hidden_files(tree):
    assert list(data_files.walk(tree)) == ["top.txt", "a [1]/1.txt", "b/2.txt"]
    assert list(data_files.walk(tree + "/")) == list(data_files.walk(tree))


def test_walking_works_from_the_working_directory(tree, monkeypatch):
    monkeypatch.chdir(tree)
    assert list(data_files.walk(".")) == ["top.txt", "a [1]/1.txt", "b/2.txt"]


def test_a_pattern_gives_its_files_once_and_in_order(tree):
    found = data_files.glob([f"{tree}/*/*.txt", f"{tree}/b/2.txt"])
    assert found == [f"{tree}/a [1]/1.txt", f"{tree}/b/2.txt"]
    assert data_files.glob(f"{tree}/*.nothing") == []


def test_a_name_with_brackets_stands_for_itself(tree):
    assert data_files.glob(f"{tree}/a [1]/1.txt") == [f"{tree}/a [1]/1.txt"]


def test_a_missing_file_is_told_in_words(tree):
    with pytest.raises(HoldfastError, match=r"nothing\.txt cannot be read: it does not exist"):
        data_files.read_bytes(f"{tree}/nothing.txt")
    with pytest.raises(HoldfastError, match="cannot be read"):
        data_files.read_bytes(tree)


def test_the_first_bytes_can_be_read_alone(tree):
    assert data_files.read_bytes(f"{tree}/top.txt", 3) == b"top"


def test_writing_replaces_the_whole_file_and_leaves_nothing_else(tmp_path):
    path = str(tmp_path / "new" / "file")
    data_files.write_bytes(path, b"long content")
    data_files.write_bytes(path, b"short")
    assert data_files.read_bytes(path) == b"short"
    assert [entry.name for entry in (tmp_path / "new").iterdir()] == ["file"]


def test_temporaries_of_a_killed_writer_are_removed(tmp_path):
    (tmp_path / ".file.123").write_text("half")
    (tmp_path / ".other.123").write_text("not ours")
    data_files.remove_temporaries(str(tmp_path), ["file"])
    assert [entry.name for entry in tmp_path.iterdir()] == [".other.123"]


def test_a_stamp_differs_when_a_file_is_touched(tree):
    before = data_files.stamp(f"{tree}/top.txt")
    with open(f"{tree}/top.txt", "a") as stream:
        stream.write("more")
    assert data_files.stamp(f"{tree}/top.txt") != before
    assert data_files.stamp(f"{tree}/nothing") is None


def test_a_link_back_is_not_followed_for_ever_and_another_is(tree, tmp_path):
    (tmp_path / "b" / "back").symlink_to(tmp_path)
    (tmp_path / "b" / "itself").symlink_to(tmp_path / "b")
    (tmp_path / "c").symlink_to(tmp_path / "a [1]")
    assert list(data_files.walk(tree)) == ["top.txt", "a [1]/1.txt", "b/2.txt", "c/1.txt"]


def test_a_folder_that_cannot_be_read_is_told(tree, monkeypatch):
    def scandir(folder):
        raise PermissionError(13, "Permission denied", folder)

    monkeypatch.setattr("os.scandir", scandir)
    with pytest.raises(HoldfastError, match="cannot be read: Permission denied"):
        list(data_files.walk(tree))


def test_names_that_are_not_utf8_are_walked_and_read(tmp_path):
    path = os.fsencode(tmp_path) + b"/gr\xfcn.txt"
    with open(path, "wb") as stream:
        stream.write(b"green")
    (name,) = data_files.walk(str(tmp_path))
    assert os.fsencode(name) == b"gr\xfcn.txt"
    assert data_files.list_folder(str(tmp_path)) == [name]
    assert data_files.glob(f"{tmp_path}/*.txt") == [f"{tmp_path}/{name}"]
    assert data_files.exists(f"{tmp_path}/{name}")
    assert data_files.read_bytes(f"{tmp_path}/{name}") == b"green"


def test_a_link_to_nothing_is_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / "broken.txt").symlink_to(tmp_path / "nothing")
    assert list(data_files.walk(str(tmp_path))) == ["broken.txt"]
    with pytest.raises(HoldfastError, match="it does not exist"):
        data_files.read_bytes(f"{tmp_path}/broken.txt")


def test_what_is_not_a_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "a.txt").write_text("")
    assert list(data_files.walk(str(tmp_path))) == ["a.txt"]


def test_files_of_a_store_are_found_read_and_written(store):
    data_files.write_bytes("gs://cells/files/a.record", b"content")
    data_files.write_bytes("gs://cells/files/deep/b.record", b"")
    assert store.objects["cells"]["files/a.record"].content == b"content"
    assert data_files.exists("gs://cells/files/a.record")
    assert not data_files.exists("gs://cells/files/c.record")
    assert data_files.is_folder("gs://cells/files")
    assert data_files.glob("gs://cells/files/*.record") == ["gs://cells/files/a.record"]
    assert data_files.list_folder("gs://cells/files") == ["a.record", "deep"]
    assert list(data_files.walk("gs://cells/files")) == ["a.record", "deep/b.record"]
    assert data_files.read_bytes("gs://cells/files/a.record", 3) == b"con"
    stamp = data_files.stamp("gs://cells/files/a.record")
    assert stamp is not None
    assert stamp.size_bytes == 7
    assert data_files.stamp("gs://cells/files/c.record") is None


@pytest.mark.parametrize(
    "ask",
    [
        data_files.exists,
        data_files.is_folder,
        data_files.list_folder,
        data_files.read_bytes,
        data_files.stamp,
        lambda path: data_files.glob(f"{path}/*.record"),
        lambda path: list(data_files.walk(path)),
    ],
)
def test_a_store_that_denies_is_not_taken_for_an_empty_one(store, ask):
    store.fault = lambda request: 403
    with pytest.raises(StoreError, match=r"gs://cells/denied.* \(403\)"):
        ask("gs://cells/denied")


def test_what_a_store_cannot_answer_at_once_is_asked_again(store):
    store.put("cells", "busy/a.record", b"content")
    faults = itertools.chain([503, CUT], itertools.repeat(None))
    store.fault = lambda request: next(faults)
    assert data_files.read_bytes("gs://cells/busy/a.record") == b"content"
