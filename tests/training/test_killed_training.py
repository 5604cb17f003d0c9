"""Runs that are killed, split or spread over devices train as one that is not."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.runs.run import Run, is_run

pytestmark = pytest.mark.slow
PROGRAM = Path(__file__).with_name("small_training.py")
STEPS = 12
FAMILIES = ("ssd", "faster_rcnn", "mask_rcnn", "center_net")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    convert(open_source("20@64", format_name="synthetic", seed=1), str(folder), val=0.0, seed=0)
    return folder


def start(data: Path, run: Path, *options: str, **environment: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), str(data), str(run), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )


def finish(process: subprocess.Popen) -> None:
    _, errors = process.communicate()
    assert process.returncode == 0, errors


def losses(run: Path, steps: int = STEPS) -> list[dict[str, float]]:
    """Give the losses of every step, which must all be there, once and in order."""
    events = [event for event in Run.open(run).read_events() if event.kind == "step"]
    assert [event.step for event in events] == list(range(1, steps + 1))
    return [event.values["losses"] for event in events]


def count_steps(run: Path) -> int:
    events = run / "events.jsonl"
    return events.read_text().count('"kind":"step"') if events.exists() else 0


def kill_once(data: Path, run: Path, wait: float, options: tuple[str, ...]) -> None:
    """Kill a training some time after its first step, while it is running."""
    process = start(data, run, *options)
    before = count_steps(run)
    while process.poll() is None and count_steps(run) <= before:
        time.sleep(0.01)
    time.sleep(wait)
    assert process.poll() is None, "it was over before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize(
    ("family", "kills", "steps"), [("ssd", 10, 300), *((family, 2, 40) for family in FAMILIES)]
)
def test_a_killed_run_goes_on_with_the_same_losses(data, tmp_path, family, kills, steps):
    random.seed(kills)
    options = ("--family", family, "--steps", str(steps))
    finish(start(data, tmp_path / "whole", *options))
    run = tmp_path / "run"
    for _ in range(kills):
        kill_once(data, run, random.random() * 0.3, options)
    assert is_run(run)
    finish(start(data, run, *options))
    assert losses(run, steps) == losses(tmp_path / "whole", steps)  # to the last bit


@pytest.fixture(scope="module", params=FAMILIES)
def family(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def plain(data, family, tmp_path_factory):
    """The losses of one device that computes whole batches, with frozen batch norm."""
    run = tmp_path_factory.mktemp("plain") / "run"
    finish(start(data, run, "--family", family, "--plain"))
    return losses(run)


def test_a_batch_in_pieces_gives_the_losses_of_the_whole_batch(data, tmp_path, family, plain):
    options = ("--family", family, "--plain", "--accumulate", "4")
    finish(start(data, tmp_path / "four", *options))
    assert_close(plain, losses(tmp_path / "four"), 1e-5)


def test_two_devices_give_the_losses_of_one(data, tmp_path, family, plain):
    finish(start(data, tmp_path / "two", "--family", family, "--plain", "--replicas", "2"))
    assert_close(plain, losses(tmp_path / "two"), 1e-4)


def test_two_processes_give_the_losses_of_one(data, tmp_path, family, plain):
    workers = [f"127.0.0.1:{port}" for port in free_ports(2)]
    processes = [
        start(
            data,
            tmp_path / "two",
            *("--family", family, "--plain"),
            TF_CONFIG=json.dumps(
                {"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}}
            ),
        )
        for index in range(2)
    ]
    for process in processes:
        finish(process)
    assert_close(plain, losses(tmp_path / "two"), 1e-4)


def assert_close(one: list[dict[str, float]], other: list[dict[str, float]], error: float) -> None:
    for step, (left, right) in enumerate(zip(one, other, strict=True), start=1):
        assert left.keys() == right.keys()
        for name in left:
            assert np.isclose(left[name], right[name], rtol=error, atol=1e-7), (step, name)


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
