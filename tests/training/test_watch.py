"""Trainings that leak are warned of within 200 steps; healthy ones are not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.memory.devices.allocation import ENVIRONMENT
from holdfast.runs.run import Run

PROGRAM = Path(__file__).with_name("leaking_training.py")
CAUSES = {
    "list": "Python objects",
    "shape": "retracing",
    "cache": "input buffer",
    "files": "open files",
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    convert(open_source("20@64", format_name="synthetic", seed=1), str(folder), val=0.0, seed=0)
    return folder


def growths(data: Path, run: Path, leak: str, *options: str) -> list[dict[str, object]]:
    """Train, and give the causes of the growth that the run tells of."""
    command = [sys.executable, str(PROGRAM), str(data), str(run), leak, *options]
    environment = os.environ | dict(ENVIRONMENT)  # in which `holdfast train` runs
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return [
        event.values["cause"] for event in Run.open(run).read_events() if event.kind == "growth"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("leak", CAUSES)
def test_a_planted_leak_is_named_within_200_steps(data, tmp_path, leak):
    found = growths(data, tmp_path / "run", leak)
    assert [cause["name"] for cause in found] == [CAUSES[leak]]


@pytest.mark.slow
def test_a_healthy_training_of_1000_steps_raises_no_alarm(data, tmp_path):
    assert growths(data, tmp_path / "run", "none", "--steps", "1000") == []
