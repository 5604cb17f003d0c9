"""Several processes that train together: one that goes ends all, and all again go on."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.runs.run import Run

pytestmark = pytest.mark.slow
PROGRAM = Path(__file__).with_name("small_training.py")
FOREVER = 100_000


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    convert(open_source("20@64", format_name="synthetic", seed=1), str(folder), val=0.0, seed=0)
    return folder


def start(data: Path, *runs: Path, steps: int = FOREVER) -> list[subprocess.Popen[str]]:
    """Start a process for each run folder, which are the same where the folder is shared."""
    sockets = [socket.socket() for _ in runs]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    names = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    return [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), str(data), str(run), "--plain", "--steps", str(steps)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ
            | {
                "TF_CONFIG": json.dumps(
                    {"cluster": {"worker": names}, "task": {"type": "worker", "index": index}}
                )
            },
        )
        for index, run in enumerate(runs)
    ]


def steps(run: Path) -> list[int]:
    return [event.step for event in Run.open(run).read_events() if event.kind == "step"]


def wait_for_step(processes: list[subprocess.Popen[str]], run: Path, step: int) -> None:
    events = run / "events.jsonl"
    while not events.exists() or f'{{"step":{step},"kind":"step"' not in events.read_text():
        for process in processes:
            assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)


def latest(run: Path) -> int:
    return max(int(path.name.partition("-")[2]) for path in (run / "checkpoints").glob("step-*"))


@pytest.mark.parametrize("victim", [0, 1])
def test_when_one_dies_the_others_end_and_say_so_and_all_again_go_on(data, tmp_path, victim):
    run = tmp_path / "run"
    processes = start(data, run, run)
    wait_for_step(processes, run, 5)
    processes[victim].kill()
    _, said = processes[1 - victim].communicate(timeout=120)  # else it would wait forever
    assert processes[1 - victim].returncode == 1
    assert "Another of the 2 processes that train together ended" in said
    processes[victim].communicate()
    saved = latest(run)
    again = start(data, run, run, steps=saved + 2)
    for process in again:
        assert process.wait() == 0, process.communicate()[1]
    assert steps(run) == list(range(1, saved + 3))


def test_a_signal_to_any_of_them_saves_and_ends_all_at_the_same_step(data, tmp_path):
    run = tmp_path / "run"
    processes = start(data, run, run)
    wait_for_step(processes, run, 5)
    processes[1].send_signal(signal.SIGTERM)
    for process in processes:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    assert latest(run) == steps(run)[-1]


def test_a_worker_that_does_not_see_the_run_resumes_with_the_state_of_the_first(data, tmp_path):
    shared, own = tmp_path / "shared", tmp_path / "own"
    whole = tmp_path / "whole"
    for process in start(data, whole, whole, steps=8):
        assert process.wait() == 0, process.communicate()[1]
    for process in start(data, shared, own, steps=4):
        assert process.wait() == 0, process.communicate()[1]
    assert not own.exists()
    for process in start(data, shared, own, steps=8):
        assert process.wait() == 0, process.communicate()[1]
    assert losses(shared) == losses(whole)


def losses(run: Path) -> list[dict[str, float]]:
    return [event.values["losses"] for event in Run.open(run).read_events() if event.kind == "step"]
