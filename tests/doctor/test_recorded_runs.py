"""What the doctor says about two short trainings that took place: the same one at two rates."""

from __future__ import annotations

from pathlib import Path

from tests.cli.commands import CONFIG
from tests.doctor.cases import case_of

from holdfast.doctor.check import all_checks
from holdfast.doctor.diagnose import examine
from holdfast.doctor.finding import Finding
from holdfast.runs.events import read_events

RECORDED = Path(__file__).parent / "recorded"
CODES = [each.code for each in all_checks() if each.about == "run"]


def findings(name: str) -> list[Finding]:
    case = case_of(CONFIG, {"train_config.num_steps": 250})
    case.events = tuple(read_events(RECORDED / f"{name}.jsonl"))
    case.run_path = RECORDED
    return list(examine(case, only=CODES).findings)


def test_a_rate_100_times_too_high_diverges_and_kills_channels():
    first, second, *_ = findings("rate_100_times_too_high")
    assert {first.code, second.code} == {"loss-diverged", "dead-activations"}
    assert first.severity == second.severity == "error"


def test_the_first_250_steps_from_fresh_weights_are_no_error():
    found = findings("fresh_start")
    assert [each.code for each in found if each.severity != "note"] == []
