"""Weights come into the cache whole and proved, or not at all; once there, no network is needed."""

from __future__ import annotations

import hashlib
import os
import threading

import numpy as np
import pytest

import holdfast
from holdfast.checkpoints.zoo.fetch_weights import fetch_weights, find_stored
from holdfast.checkpoints.zoo.find_weights import all_weights
from holdfast.checkpoints.zoo.prove_weights import prove_weights
from holdfast.errors import HoldfastError

from .tiny_archives import archive_of, packed, tiny_config

NAME = "ssd_mobilenet_v1_coco_2018_01_28"


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    return tiny_config(tmp_path_factory.mktemp("config"))


@pytest.fixture(scope="module")
def archive(config, tmp_path_factory):
    return archive_of(config, tmp_path_factory.mktemp("archive"))


@pytest.fixture
def mirror(server, archive):
    server.files[f"/{NAME}.tar.gz"] = archive
    return server


def fetch(mirror, name=NAME, **more):
    return fetch_weights(name, mirror=mirror.address, prove=prove_weights, **more)


def names_in(folder):
    return sorted(each for each in os.listdir(folder) if not each.endswith(".lock"))


def test_weights_of_a_mirror_fill_their_network_and_are_kept(mirror, cache, config):
    mirror.cuts.append(10_000)
    stored = fetch(mirror)
    assert stored.folder == cache / NAME
    assert stored.config is not None
    detector = holdfast.build_detector(config)
    assert holdfast.load_checkpoint(detector, stored.checkpoint).is_whole
    assert names_in(cache) == [NAME]
    requests = len(mirror.ranges)
    assert requests == 2
    assert fetch(mirror) == stored == find_stored(NAME)
    assert len(mirror.ranges) == requests  # offline from now on


def test_a_mirror_may_be_a_folder_an_address_of_it_or_a_variable(
    tmp_path, cache, archive, monkeypatch
):
    (tmp_path / f"{NAME}.tar.gz").write_bytes(archive)
    monkeypatch.setenv("HOLDFAST_MIRROR", tmp_path.as_uri())
    assert fetch_weights(NAME, prove=prove_weights).folder == cache / NAME


def test_an_address_is_a_name_too(mirror, cache):
    stored = fetch_weights(f"{mirror.address}/{NAME}.tar.gz", prove=prove_weights)
    assert stored.name.startswith(f"{NAME}-")
    assert stored.folder.parent == cache


def test_an_archive_or_a_folder_of_this_machine_is_a_name_too(tmp_path, cache, archive):
    path = tmp_path / "mine.tgz"
    path.write_bytes(archive)
    stored = fetch_weights(str(path), prove=prove_weights)
    assert stored.folder.parent == cache
    again = fetch_weights(str(stored.folder), prove=prove_weights)
    assert again.checkpoint == stored.checkpoint


def test_a_file_downloaded_by_hand_takes_the_place_of_the_published_one(tmp_path, cache, archive):
    path = tmp_path / "a.tar.gz"
    path.write_bytes(archive)
    stored = fetch_weights(
        "ssd_mobilenet_v1_coco_2018_01_28", source=str(path), prove=prove_weights
    )
    assert stored.folder == cache / NAME
    again = fetch_weights(NAME, source=str(stored.folder), prove=prove_weights)
    assert again.folder == cache / NAME
    assert path.read_bytes() == archive


def cut_in_half(values):
    return dict(list(values.items())[: len(values) // 2])


def of_another_shape(values):
    return {name: np.zeros((*np.shape(value), 2)) for name, value in values.items()}


@pytest.mark.parametrize("change", [cut_in_half, of_another_shape])
def test_a_checkpoint_that_does_not_fill_its_own_network_is_not_kept(
    server, cache, config, tmp_path, change
):
    server.files[f"/{NAME}.tar.gz"] = archive_of(config, tmp_path, change=change)
    with pytest.raises(HoldfastError, match=r"do not fill the network|Nothing in"):
        fetch(server)
    assert names_in(cache) == []


def test_a_checkpoint_that_lies_about_its_shapes_is_not_kept(server, cache, config, tmp_path):
    archive_of(config, tmp_path)
    data = tmp_path / "zoo" / "checkpoint" / "ckpt-0.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:-1000])
    server.files[f"/{NAME}.tar.gz"] = packed(tmp_path / "zoo")
    with pytest.raises(HoldfastError, match="cannot be read"):
        fetch(server)
    assert names_in(cache) == []


def test_a_page_in_place_of_an_archive_is_not_kept(server, cache):
    server.files[f"/{NAME}.tar.gz"] = b"<html>Sign in</html>"
    with pytest.raises(HoldfastError, match="not a whole tar archive"):
        fetch(server)
    assert names_in(cache) == []


def test_a_file_with_another_md5_is_not_kept(server, cache):
    known = all_weights()["resnet50_weights_tf_dim_ordering_tf_kernels_notop"]
    server.files[f"/{known.file_name}"] = b"not the weights"
    with pytest.raises(HoldfastError, match=known.md5):
        fetch(server, known.name)
    assert names_in(cache) == []
    assert hashlib.md5(b"not the weights").hexdigest() != known.md5


def test_two_at_once_fetch_it_once(mirror, cache):
    found, barrier = [], threading.Barrier(2)

    def run():
        barrier.wait()
        found.append(fetch(mirror))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] == found[1]
    assert len(mirror.ranges) == 1


def test_what_a_killed_process_left_is_cleared_away(mirror, cache):
    left = cache / f".{NAME}.unpacking"
    left.mkdir(parents=True)
    (left / "ckpt-9.index").write_bytes(b"half")
    assert fetch(mirror).checkpoint.endswith("ckpt-0")
    assert names_in(cache) == [NAME]


def test_a_name_that_nobody_knows_is_met_with_the_nearest(cache):
    with pytest.raises(HoldfastError) as caught:
        find_stored("fpnlite_32")
    assert "fpnlite_320" in caught.value.fix
    with pytest.raises(HoldfastError, match=r"There is no gone/a\.tar\.gz"):
        find_stored("gone/a.tar.gz")


def test_a_folder_called_like_a_recipe_does_not_hide_it(cache, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fpnlite_320").mkdir()
    assert find_stored("fpnlite_320") is None
