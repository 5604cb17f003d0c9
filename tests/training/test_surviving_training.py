"""Trainings that something kills are finished by the same command, with the losses of a whole one.

The command itself is run, as a user runs it; what it trains takes seconds.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.runs.run import Run

from .limited_training import CONFIG, LAYERS
from .small_training import config_text, given_plan

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
STEPS, CHECKPOINT_EVERY = 60, 4


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    convert(open_source("20@64", format_name="synthetic", seed=1), str(folder), val=0.0, seed=0)
    (folder / "small.config").write_text(config_text(evaluates=False))
    large = CONFIG % {"layers": LAYERS, "side": 256, "batch_size": 8}
    (folder / "large.config").write_text(large)
    # Without it every start would plan for seconds, and would see that memory does not suffice.
    (folder / "plan.json").write_text(json.dumps(given_plan().document()))
    return folder


def command(config: Path, run: Path, steps: int) -> list[str]:
    return [
        *(sys.executable, "-m", "holdfast", "train", str(config), "--run", str(run)),
        *("--steps", str(steps), "--checkpoint-every", str(CHECKPOINT_EVERY), "--deterministic"),
        *("--plan", str(config.with_name("plan.json"))),
    ]


def finish(process: subprocess.Popen[str]) -> str:
    """Wait for a training that comes to its end; give what it printed."""
    out, err = process.communicate()
    assert process.returncode == 0, out + err
    return " ".join(out.split())


def start(arguments: list[str], addresses: int | None = None) -> subprocess.Popen[str]:
    def limit() -> None:
        if addresses is not None:
            resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))

    return subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limit,
    )


def losses(run: Path) -> list[dict[str, float]]:
    """Give the losses of every step, which must all be there, once and in order."""
    events = [event for event in Run.open(run).read_events() if event.kind == "step"]
    assert [event.step for event in events] == list(range(1, len(events) + 1))
    return [event.values["losses"] for event in events]


def restarts(run: Path) -> list[tuple[int, dict]]:
    events = Run.open(run).read_events()
    return [(event.step, event.values) for event in events if event.kind == "restarted"]


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory) -> list[dict[str, float]]:
    """The losses of a training that nothing disturbs."""
    run = tmp_path_factory.mktemp("whole") / "run"
    finish(start(command(data / "small.config", run, STEPS)))
    return losses(run)


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGSEGV, marks=pytest.mark.slow)]
)
def test_a_training_that_is_killed_at_any_step_is_finished_to_the_last_bit(
    data, tmp_path, whole, number
):
    run = tmp_path / "run"
    process = start(command(data / "small.config", run, STEPS))
    wait_for_steps(process, run, random.Random(number).randrange(1, STEPS // 2))
    (child,) = children(process.pid)
    os.kill(child, number)
    printed = finish(process)
    assert f"({number.name}). It is started again as it was" in printed
    ((saved, values),) = restarts(run)
    assert values["cause"] == number.name
    assert values["reached"] - saved <= CHECKPOINT_EVERY
    assert losses(run) == whole


def wait_for_steps(process: subprocess.Popen[str], run: Path, count: int) -> None:
    events = run / "events.jsonl"
    while not events.exists() or events.read_text().count('"kind":"step"') < count:
        assert process.poll() is None, "it ended too soon"
        time.sleep(0.01)


def children(process: int) -> list[int]:
    return [
        int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()
    ]


@pytest.mark.slow
def test_a_training_that_really_runs_out_of_addresses_is_finished_in_a_cheaper_way(data, tmp_path):
    free, tight = tmp_path / "free", tmp_path / "tight"
    process = start(command(data / "large.config", free, 6))
    taken = most_addresses(process)
    finish(process)
    finish(start(command(data / "large.config", tight, 6), int(0.83 * taken)))
    # What comes first is not sure: an error that the step survives, a crash, or both.
    assert all(values["evidence"] for _, values in restarts(tight))
    recoveries = [event for event in Run.open(tight).read_events() if event.kind == "recovered"]
    assert recoveries[0].values["after"]["rematerialize"]
    plan = json.loads((tight / "plan.json").read_text())
    same = 1e-5 if plan["settings"]["accumulation"] == 1 else 1e-4
    for one, other in zip(losses(free), losses(tight), strict=True):
        np.testing.assert_allclose(list(one.values()), list(other.values()), rtol=same)


def most_addresses(process: subprocess.Popen[str]) -> int:
    """Watch the child of a process until it ends; give the most addresses that it had."""
    most = 0
    while process.poll() is None:
        for child in children(process.pid):
            try:
                status = Path(f"/proc/{child}/status").read_text()
            except OSError:
                continue
            found = [line.split()[1] for line in status.splitlines() if line.startswith("VmPeak:")]
            most = max([most, *(int(each) * 1024 for each in found)])
        time.sleep(0.05)
    return most
