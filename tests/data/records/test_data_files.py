from __future__ import annotations

import os

import pytest

from holdfast.data.records import data_files
from holdfast.errors import HoldfastError


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
    data_files.remove_temporaries(str(tmp_path / "file"))
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
