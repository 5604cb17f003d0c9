"""`holdfast train` with TF_CONFIG: who waits in vain ends, and says for whom."""

from __future__ import annotations

import signal
import time

import pytest
from tests.training.small_training import config_text
from tests.training.workers import ended, free_addresses, start_worker

from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    convert(open_source("8@64", format_name="synthetic", seed=1), str(folder), val=0.0, seed=0)
    (folder / "pipeline.config").write_text(config_text())
    return folder / "pipeline.config"


def train(config, addresses, index: int, seconds: int):
    run = config.parent / "run"
    command = ["-m", "holdfast", "train", str(config), "--run", str(run)]
    return start_worker([*command, "--peer-timeout", str(seconds)], addresses, index)


@pytest.mark.parametrize("index", [0, 1])
def test_who_is_missing_is_named_and_nothing_is_begun(config, index):
    addresses = free_addresses(2)
    code, said = ended(train(config, addresses, index, 5))
    assert code == 1
    assert f"worker {1 - index} ({addresses[1 - index]})" in " ".join(said.split())
    assert not (config.parent / "run").exists()


def test_sigterm_ends_a_process_that_waits_for_the_others(config):
    process = train(config, free_addresses(2), 0, 600)
    time.sleep(3)  # it may come at any moment
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert ended(process)[0] == -signal.SIGTERM
