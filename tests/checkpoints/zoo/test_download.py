"""A file comes whole, however often the connection breaks, or an error says what to do."""

from __future__ import annotations

import os
import shutil
import socket
from collections import namedtuple

import pytest

from holdfast.checkpoints.zoo.download import download, forget
from holdfast.errors import HoldfastError

CONTENT = bytes(range(256)) * 4000


def fetch(server, path, name="/a.bin", **more):
    download(f"{server.address}{name}", path, by_hand="holdfast weights get a --from FILE", **more)


@pytest.fixture
def served(server):
    server.files["/a.bin"] = CONTENT
    return server


def test_a_file_comes_whole_and_progress_is_told(served, tmp_path):
    told = []
    fetch(served, tmp_path / "part", progress=lambda done, total: told.append((done, total)))
    assert (tmp_path / "part").read_bytes() == CONTENT
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert told == sorted(told)


def test_a_cut_download_is_resumed_where_it_was_cut(served, tmp_path):
    served.cuts.extend([1000, 70_000])
    fetch(served, tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == CONTENT
    assert served.ranges == [None, "bytes=1000-", "bytes=71000-"]


def test_what_came_is_kept_for_the_next_call(served, tmp_path):
    served.cuts.extend([5000, 0, 0, 0, 0, 0])
    with pytest.raises(HoldfastError, match="the same command resumes") as caught:
        fetch(served, tmp_path / "part")
    assert "holdfast weights get a --from FILE" in caught.value.fix
    served.cuts.clear()
    fetch(served, tmp_path / "part")
    assert served.ranges[-1] == "bytes=5000-"
    assert (tmp_path / "part").read_bytes() == CONTENT
    forget(tmp_path / "part")
    assert os.listdir(tmp_path) == []


def test_a_whole_file_is_not_asked_for_again(served, tmp_path):
    fetch(served, tmp_path / "part")
    fetch(served, tmp_path / "part")
    assert len(served.ranges) == 1


def test_a_server_that_cannot_resume_starts_over(served, tmp_path):
    served.has_ranges = False
    served.cuts.append(1000)
    fetch(served, tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == CONTENT


def test_a_file_that_has_changed_meanwhile_is_not_glued_to_the_old_one(served, tmp_path):
    served.cuts.extend([5000, 0, 0, 0, 0, 0])
    with pytest.raises(HoldfastError):
        fetch(served, tmp_path / "part")
    served.cuts.clear()
    served.files["/a.bin"] = CONTENT[::-1]
    fetch(served, tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == CONTENT[::-1]


def test_a_part_of_another_address_is_not_resumed(served, tmp_path):
    served.files["/b.bin"] = b"b" * len(CONTENT)
    served.cuts.extend([5000, 0, 0, 0, 0, 0])
    with pytest.raises(HoldfastError):
        fetch(served, tmp_path / "part")
    served.cuts.clear()
    fetch(served, tmp_path / "part", "/b.bin")
    assert (tmp_path / "part").read_bytes() == served.files["/b.bin"]


def test_a_size_that_never_comes_true_is_an_error(served, tmp_path):
    served.lies = 10
    with pytest.raises(HoldfastError, match="cannot be fetched"):
        fetch(served, tmp_path / "part")


def test_a_busy_server_is_asked_again(served, tmp_path):
    served.answers.extend([503, 500])
    fetch(served, tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == CONTENT


def test_a_redirect_is_followed(served, tmp_path):
    served.moved["/old.bin"] = f"{served.address}/a.bin"
    fetch(served, tmp_path / "part", "/old.bin")
    assert (tmp_path / "part").read_bytes() == CONTENT


def test_a_redirect_to_a_file_of_this_machine_is_refused(served, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    served.moved["/old.bin"] = secret.as_uri()
    with pytest.raises(HoldfastError):
        fetch(served, tmp_path / "part", "/old.bin")
    assert not (tmp_path / "part").exists()


@pytest.mark.parametrize(("status", "said"), [(404, "does not exist"), (407, "HTTPS_PROXY")])
def test_a_refusal_is_not_tried_again(server, tmp_path, status, said):
    server.answers.append(status)
    with pytest.raises(HoldfastError) as caught:
        fetch(server, tmp_path / "part")
    assert said in f"{caught.value.message} {caught.value.fix}"
    assert len(server.ranges) == 1
    assert not (tmp_path / "part").exists()


def test_without_network_one_line_says_what_to_do(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(HoldfastError) as caught:
        download(f"http://127.0.0.1:{port}/a", tmp_path / "part", by_hand="get a --from FILE")
    assert f"http://127.0.0.1:{port}/a cannot be fetched" in caught.value.message
    assert "\n" not in caught.value.fix
    assert "HTTPS_PROXY" in caught.value.fix
    assert "get a --from FILE" in caught.value.fix


def test_a_full_disk_is_said_before_anything_is_written(served, tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(10, 5, 5))
    with pytest.raises(HoldfastError, match="is full: 5 B are left") as caught:
        fetch(served, tmp_path / "part")
    assert "HOLDFAST_CACHE" in caught.value.fix
