"""`holdfast weights`: list, get and path, and the training that starts from what was fetched."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
from tests.checkpoints.zoo.loopback import Loopback
from tests.checkpoints.zoo.tiny_archives import archive_of, tiny_config
from tests.cli.commands import holdfast, words

NAME = "ssd_mobilenet_v1_coco_2018_01_28"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "weights"


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archive")
    path = folder / "mine.tar.gz"
    path.write_bytes(archive_of(tiny_config(folder), folder))
    return path


def test_the_list_says_input_accuracy_recipe_and_what_is_not_built():
    document = json.loads(holdfast("weights", "list", "--json").out)
    rows = {each["name"]: each for each in document["weights"]}
    row = rows["ssd_mobilenet_v2_fpnlite_320x320_coco17_tpu-8"]
    assert (row["coco_map"], row["input"], row["recipes"]) == (22.2, [320, 320], ["fpnlite_320"])
    assert row["built"]
    assert not rows["extremenet"]["built"]
    shown = holdfast("weights", "list", "fpnlite_320").out
    assert "22.2    320x320" in shown
    assert "(fpnlite_320)" in shown
    assert holdfast("weights", "list", "nothing_like_it").code == 1


def test_a_file_downloaded_by_hand_is_proved_and_found_again(archive, cache):
    before = holdfast("weights", "path", NAME)
    assert before.code == 2
    assert f"holdfast weights get {NAME}" in words(before.err)
    fetched = holdfast("weights", "get", NAME, "--from", archive)
    assert fetched.code == 0, fetched.err
    assert fetched.out.strip() == str(cache / NAME / "checkpoint" / "ckpt-0")
    assert holdfast("weights", "path", NAME).out == fetched.out
    listed = json.loads(holdfast("weights", "list", NAME, "--json").out)["weights"]
    assert listed[0]["path"] == fetched.out.strip()


def test_without_a_network_the_command_says_what_to_do(monkeypatch):
    monkeypatch.setenv("HOLDFAST_MIRROR", "http://127.0.0.1:9")
    finished = holdfast("weights", "get", "fpnlite_320")
    assert finished.code == 2
    said = words(finished.err)
    assert "HTTPS_PROXY" in said
    name = "ssd_mobilenet_v2_fpnlite_320x320_coco17_tpu-8"
    assert f"`holdfast weights get {name} --from FILE`" in said


def test_weights_for_another_network_are_refused(archive, tmp_path):
    tiny_config(tmp_path)
    other = tmp_path / "tiny.config"
    other.write_text(other.read_text().replace("depth_multiplier: 0.1", "depth_multiplier: 0.2"))
    finished = holdfast("weights", "get", str(archive), "--for", other)
    assert finished.code == 2
    assert "they do not fill the network" in words(finished.err)


def test_two_places_for_one_file_are_refused(archive):
    finished = holdfast("weights", "get", NAME, "--from", archive, "--mirror", "http://a")
    assert finished.code == 2


def test_a_killed_download_leaves_nothing_that_looks_whole_and_is_resumed(archive, cache):
    with Loopback() as server:
        server.files["/a.tar.gz"] = archive.read_bytes()
        server.cuts.extend([1000] * 3)
        command = [sys.executable, "-m", "holdfast", "weights", "get", f"{server.address}/a.tar.gz"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        while not list(cache.glob(".*.part")) or not server.ranges:
            assert process.poll() is None
            time.sleep(0.05)
        process.kill()
        process.wait()
        process.stdout.close()
        assert not [each for each in cache.iterdir() if not each.name.startswith(".")]
        server.cuts.clear()
        finished = holdfast("weights", "get", f"{server.address}/a.tar.gz")
        assert finished.code == 0, finished.err
        assert [each for each in server.ranges if each]
