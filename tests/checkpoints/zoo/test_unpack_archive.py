"""No archive writes outside of its folder, fills the disk, or leaves half of itself."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from collections import namedtuple

import pytest

from holdfast.checkpoints.zoo import unpack_archive as room
from holdfast.checkpoints.zoo.unpack_archive import unpack_archive
from holdfast.errors import HoldfastError

FILES = {
    "zoo/pipeline.config": b"model { }",
    "zoo/checkpoint/ckpt-0.index": b"index",
    "zoo/checkpoint/ckpt-0.data-00000-of-00001": b"data" * 1000,
    "zoo/checkpoint/checkpoint": b'model_checkpoint_path: "ckpt-0"',
    "zoo/saved_model/saved_model.pb": b"graph",
    "zoo/saved_model/variables/variables.index": b"other",
}


def member(name, kind=tarfile.REGTYPE, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def write(path, files, *extra):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for info in extra:
            archive.addfile(info, io.BytesIO(b"x" * info.size))
    return path


def files_in(folder):
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )


@pytest.fixture
def inner(tmp_path):
    folder = tmp_path / "outer" / "inner"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize("top", ["zoo/", "./zoo/", "", "./", "a/b/"])
def test_config_and_checkpoint_come_out_whatever_the_archives_own_folder(tmp_path, inner, top):
    files = {name.replace("zoo/", top): content for name, content in FILES.items()}
    unpack_archive(write(tmp_path / "a.tar.gz", files), inner)
    assert files_in(inner) == [
        "checkpoint/checkpoint",
        "checkpoint/ckpt-0.data-00000-of-00001",
        "checkpoint/ckpt-0.index",
        "pipeline.config",
    ]
    assert (inner / "checkpoint/ckpt-0.data-00000-of-00001").read_bytes() == b"data" * 1000


def test_a_checkpoint_of_tf1_lies_beside_its_config(tmp_path, inner):
    files = {"a/model.ckpt.index": b"1", "a/model.ckpt.data-00000-of-00001": b"2", "a/x.pb": b"3"}
    unpack_archive(write(tmp_path / "a.tar.gz", files), inner)
    assert files_in(inner) == ["model.ckpt.data-00000-of-00001", "model.ckpt.index"]


@pytest.mark.parametrize(
    "evil",
    [
        member("../slipped"),
        member("zoo/../../slipped"),
        member("zoo/checkpoint/../../../slipped.index"),
        member("..\\slipped"),
        member("/tmp/slipped"),
        member("C:\\slipped"),
        member("zoo/link", tarfile.SYMTYPE, "../.."),
        member("zoo/link.index", tarfile.SYMTYPE, "/etc/passwd"),
        member("zoo/hard.index", tarfile.LNKTYPE, "/etc/passwd"),
        member("zoo/device", tarfile.CHRTYPE),
        member("zoo/pipe", tarfile.FIFOTYPE),
    ],
    ids=lambda info: f"{info.name}-{info.type.decode()}",
)
def test_an_archive_that_could_write_elsewhere_is_refused_whole(tmp_path, inner, evil):
    archive = write(tmp_path / "a.tar.gz", FILES, evil)
    with pytest.raises(HoldfastError, match="nothing was unpacked"):
        unpack_archive(archive, inner)
    assert files_in(tmp_path) == ["a.tar.gz"]


def test_an_archive_without_end_is_refused(tmp_path, inner, monkeypatch):
    monkeypatch.setattr(room, "MOST_BYTES", 2000)
    with pytest.raises(HoldfastError, match="more than"):
        unpack_archive(write(tmp_path / "a.tar.gz", FILES), inner)
    assert files_in(inner) == []


def test_a_disk_without_room_is_said_first(tmp_path, inner, monkeypatch):
    archive = write(tmp_path / "a.tar.gz", FILES)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(10, 5, 5))
    with pytest.raises(HoldfastError, match="is full"):
        unpack_archive(archive, inner)
    assert files_in(inner) == []


@pytest.mark.parametrize(
    "content", [b"", b"<!DOCTYPE html><title>Sign in</title>", b"\x1f\x8b" + os.urandom(500)]
)
def test_what_is_not_an_archive_is_said_so(tmp_path, inner, content):
    (tmp_path / "a.tar.gz").write_bytes(content)
    with pytest.raises(HoldfastError, match="not a whole tar archive"):
        unpack_archive(tmp_path / "a.tar.gz", inner)


def test_half_an_archive_is_refused(tmp_path, inner):
    files = FILES | {"zoo/checkpoint/ckpt-0.data-00000-of-00001": os.urandom(100_000)}
    whole = write(tmp_path / "a.tar.gz", files).read_bytes()
    (tmp_path / "a.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(HoldfastError, match="not a whole tar archive"):
        unpack_archive(tmp_path / "a.tar.gz", inner)


def test_an_archive_without_a_checkpoint_is_refused(tmp_path, inner):
    with pytest.raises(HoldfastError, match="holds no checkpoint"):
        unpack_archive(write(tmp_path / "a.tar.gz", {"a/frozen.pb": b"1"}), inner)
