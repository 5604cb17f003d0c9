"""On two devices the parts of the step do what they do on one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from . import numpy_optimizers as oracle

PROGRAM = Path(__file__).with_name("two_devices.py")
START = np.linspace(-1, 1, 6).reshape(3, 2)
GRADIENTS = oracle.gradients((3, 2))
ORACLES = {
    "momentum": lambda steps: oracle.momentum(START, steps, momentum=0.9),
    "rms_prop": lambda steps: oracle.rms_prop(START, steps, decay=0.9, momentum=0.9, epsilon=1.0),
    "adam": lambda steps: oracle.adam(START, steps, epsilon=1e-8),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[str, np.ndarray]:
    folder = tmp_path_factory.mktemp("two_devices")
    np.savez(folder / "inputs.npz", start=START, gradients=GRADIENTS, rates=oracle.RATES)
    command = [sys.executable, PROGRAM, folder / "inputs.npz", folder / "outputs.npz"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return dict(np.load(folder / "outputs.npz"))


@pytest.mark.parametrize("name", ORACLES)
def test_both_devices_hold_the_weights_of_numpy_and_skip_the_step_that_is_not_finite(results, name):
    first, second = results[f"{name} weights"]
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, ORACLES[name](GRADIENTS), rtol=1e-4, atol=1e-5)
    assert results[f"{name} updates"] == oracle.STEPS
    assert results[f"{name} scale"] == 2.0**14


@pytest.mark.parametrize("name", ORACLES)
def test_both_devices_hold_the_averages_and_give_them_to_the_model(results, name):
    path = np.array([ORACLES[name](GRADIENTS[:count]) for count in range(1, oracle.STEPS + 1)])
    expected = oracle.averages(path, START, 0.9999)
    for kind in ("averages", "swapped"):
        first, second = results[f"{name} {kind}"]
        np.testing.assert_array_equal(first, second)
        np.testing.assert_allclose(first, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(results[f"{name} back"], results[f"{name} weights"])
