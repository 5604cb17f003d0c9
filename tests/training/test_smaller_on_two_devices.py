"""Pruning and a teacher on two devices do what they do on one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from holdfast.checkpoints.own.own_reader import open_own_checkpoint
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.runs.run import Run

pytestmark = pytest.mark.slow
PROGRAM = Path(__file__).with_name("small_training.py")
STEPS = 6


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    convert(open_source("20@64", format_name="synthetic", seed=1), str(folder), val=0.0, seed=0)
    return folder


@pytest.fixture(scope="module")
def teacher(data, tmp_path_factory) -> Path:
    return train(data, tmp_path_factory.mktemp("teacher") / "run", "--steps", "2")


@pytest.fixture(scope="module")
def one(data, teacher, tmp_path_factory) -> Path:
    return train(data, tmp_path_factory.mktemp("one") / "run", *options(teacher))


def options(teacher: Path) -> tuple[str, ...]:
    prune = ("--prune", "0.5,begin=1,end=3,every=1")
    return ("--plain", "--steps", str(STEPS), *prune, "--teacher", str(teacher))


def train(data: Path, run: Path, *given: str) -> Path:
    command = [sys.executable, str(PROGRAM), str(data), str(run), *given]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    return run


def losses(run: Path) -> list[dict[str, float]]:
    return [each.values["losses"] for each in Run.open(run).read_events() if each.kind == "step"]


def zeros(run: Path) -> dict[str, np.ndarray]:
    opened = open_own_checkpoint(run)
    assert opened is not None
    return {name: opened.value(name) == 0.0 for name in opened.shapes if _is_pruned(name)}


def _is_pruned(name: str) -> bool:
    return name.endswith("pointwise/convolution/kernel")


@pytest.mark.parametrize("how", [("--replicas", "2"), ("--accumulate", "4")])
def test_losses_are_close_and_as_much_is_pruned(data, teacher, one, tmp_path, how):
    other = train(data, tmp_path / "run", *options(teacher), *how)
    assert len(losses(one)) == len(losses(other)) == STEPS
    for first, second in zip(losses(one), losses(other), strict=True):
        assert first.keys() == second.keys()
        for name, value in first.items():
            assert second[name] == pytest.approx(value, rel=1e-3, abs=1e-5), name
    pruned, expected = zeros(other), zeros(one)
    for name, places in expected.items():
        assert places.mean() == pytest.approx(pruned[name].mean(), abs=1e-6)
        assert (places == pruned[name]).mean() > 0.98, name
