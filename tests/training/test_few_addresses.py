"""Half of the addresses that a training takes are enough for the same training."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.runs.run import Run

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS")]

PROGRAM = Path(__file__).with_name("few_addresses.py")
MOBILENET = "ssd_mobilenet_v2_320x320_coco17_tpu-8"
RETINANET = "ssd_resnet50_v1_fpn_640x640_coco17_tpu-8"
RATE = 1e-3  # the configs' own are for batches of 512
# With fresh weights and batch norm, the last bit of a weight is in the third digit of the
# gradients: only small steps can be compared.
SMALL_RATE = 1e-7


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    convert(open_source("40@320", format_name="synthetic", seed=1), str(folder), val=0.0, seed=0)
    return folder


@pytest.fixture
def train(shared, data, tmp_path):
    """Give a function that trains in a process of its own and gives the addresses it took."""

    def run(
        name: str,
        network: str,
        batch_size: int,
        steps: int,
        *,
        rate: float = RATE,
        limit: int | None = None,
    ) -> int:
        config = shared / "goldens" / network / "pipeline.config"
        command = [sys.executable, str(PROGRAM), str(config), str(data), str(tmp_path / name)]
        command += ["--batch-size", str(batch_size), "--steps", str(steps)]
        command += ["--learning-rate", str(rate)]
        command += [] if limit is None else ["--limit", str(limit)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        return int(done.stdout.splitlines()[-1])

    return run


def losses(run: Path) -> list[float]:
    """Give the total losses; every step must be there, once and in order."""
    events = [event for event in Run.open(run).read_events() if event.kind == "step"]
    assert [event.step for event in events] == list(range(1, len(events) + 1))
    return [event.values["losses"]["Loss/total_loss"] for event in events]


def settings(run: Path) -> dict[str, object]:
    return json.loads((run / "plan.json").read_text())["settings"]


@pytest.mark.parametrize(
    ("network", "batch_size", "steps"), [(MOBILENET, 8, 50), (RETINANET, 2, 20)]
)
def test_half_of_the_addresses_are_enough(train, tmp_path, network, batch_size, steps):
    plain = train("plain", network, batch_size, 2)
    train("half", network, batch_size, steps, limit=plain // 2)
    assert len(losses(tmp_path / "half")) == steps
    assert settings(tmp_path / "half") != settings(tmp_path / "plain")


def test_blocks_computed_twice_change_no_loss(train, tmp_path):
    plain = train("plain", MOBILENET, 8, 4, rate=SMALL_RATE)
    train("less", MOBILENET, 8, 4, rate=SMALL_RATE, limit=int(0.55 * plain))
    less = settings(tmp_path / "less")
    assert less["accumulation"] == 1
    assert less["rematerialize"]
    np.testing.assert_allclose(losses(tmp_path / "less"), losses(tmp_path / "plain"), rtol=1e-5)
