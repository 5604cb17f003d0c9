from __future__ import annotations

import time

import pytest
from tests.cli.commands import CONFIG

from holdfast.cloud.machine_types import find_machine
from holdfast.cloud.preflight import data_looks
from holdfast.cloud.preflight.data_looks import (
    look_at_host_memory,
    look_at_speed,
    look_into_records,
)
from holdfast.cloud.preflight.flight import Flight
from holdfast.config.check_config import check_config
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    """A config with its records."""
    folder = tmp_path_factory.mktemp("data")
    source = open_source("20@96", format_name="synthetic", seed=1)
    convert(source, str(folder / "records"), val=0.2, seed=0)
    (folder / "pipeline.config").write_text(CONFIG)
    return folder / "pipeline.config"


def flight_of(config, **choices) -> Flight:
    given = {
        "machine": find_machine(choices.pop("on", "g2-standard-8")),
        "report": check_config(config, choices.pop("overrides", {})),
        "workers": 1,
        "run": None,
        "region": "us-central1",
        "checkpoint_every": 500,
        "step_seconds": None,
        "is_spot": False,
        "assignments": (),
        "deadline": time.monotonic() + 400,
    }
    return Flight(**(given | choices))


def inspected(monkeypatch, **document) -> None:
    whole = {"images": 8, "boxes": 20, "left_out": []} | document
    monkeypatch.setattr(data_looks, "_inspected", lambda *_: (whole, ""))


def test_records_that_are_mostly_left_out_are_an_error_with_the_reason(config, monkeypatch):
    left_out = [{"reason": "the image cannot be decoded", "images": 12, "boxes": 3}]
    inspected(monkeypatch, left_out=left_out)
    outcome = next(iter(look_into_records(flight_of(config))))
    assert not outcome.ok
    assert "of 20 records looked at, 8 are good. 12 images and 3 boxes left out" in outcome.what


def test_records_with_a_few_faults_pass(config, monkeypatch):
    left_out = [{"reason": "a box without area", "images": 1, "boxes": 2}]
    inspected(monkeypatch, left_out=left_out)
    assert all(each.ok for each in look_into_records(flight_of(config)))


@pytest.mark.slow
def test_records_are_judged_by_inspect_itself(config):
    outcomes = list(look_into_records(flight_of(config)))
    assert outcomes
    assert all(each.ok and not each.is_unverified for each in outcomes), outcomes


def test_speed_is_measured_and_compared_with_the_steps(config):
    (unknown,) = look_at_speed(flight_of(config))
    assert unknown.is_unverified
    (enough,) = look_at_speed(flight_of(config, step_seconds=100.0))
    assert enough.ok
    (slow,) = look_at_speed(flight_of(config, step_seconds=1e-9))
    assert not slow.ok
    assert "the steps of one machine need" in slow.what


def test_a_batch_that_the_host_cannot_hold_is_an_error(config):
    (fine,) = look_at_host_memory(flight_of(config))
    assert fine.ok
    huge = {"train_config.batch_size": 10**7}
    (short,) = look_at_host_memory(flight_of(config, overrides=huge, on="g2-standard-4"))
    assert not short.ok
    assert "smaller batch" in short.fix
