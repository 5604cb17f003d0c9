import os
from pathlib import Path

import pytest

from holdfast.errors import HoldfastError
from holdfast.files import broken_url, refuse_blocked, refuse_remote, write_text


def test_the_text_is_written_as_utf8_without_changing_line_ends(tmp_path: Path):
    path = tmp_path / "a.txt"
    write_text(path, "größe\r\nline\n")
    assert path.read_bytes() == "größe\r\nline\n".encode()


def test_missing_folders_are_made(tmp_path: Path):
    path = tmp_path / "a" / "b" / "c.txt"
    write_text(path, "x")
    assert path.read_text() == "x"


def test_an_existing_file_is_replaced_whole(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("a much longer text than the new one")
    write_text(path, "short")
    assert path.read_text() == "short"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_text_that_cannot_be_written_leaves_the_old_file_and_no_other(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "x" * 100_000 + "\ud800")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_crash_before_the_end_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def full_disk(_: int) -> None:
        assert path.read_text() == "old"  # nothing of the new text is visible yet
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("url", ["gs://bucket/runs/one", "s3://bucket", "hdfs://host/a"])
def test_a_url_is_known_by_what_pathlib_left_of_it(url: str):
    assert broken_url(Path(url)) == broken_url(url) == url
    with pytest.raises(HoldfastError, match=f"{url} is remote, and a run has to be on this"):
        refuse_remote(Path(url), "a run")


@pytest.mark.parametrize("path", ["runs/one", "/runs", "C:/runs", "a:b/c", "C://runs", "gs:"])
def test_a_local_path_is_no_url(path: str):
    assert broken_url(Path(path)) is None
    refuse_remote(Path(path), "a run")


def test_a_file_in_the_way_of_a_folder_is_told(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"")
    refuse_blocked(tmp_path / "new" / "inner", "--out")
    for folder in (tmp_path / "a.jpg", tmp_path / "a.jpg" / "inner"):
        with pytest.raises(HoldfastError, match=r"--out: .*a\.jpg is a file"):
            refuse_blocked(folder, "--out")
