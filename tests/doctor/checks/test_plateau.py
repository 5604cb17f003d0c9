from __future__ import annotations

import numpy as np
import pytest
from tests.doctor.cases import found
from tests.doctor.synthetic_runs import (
    BOXES,
    CLASSES,
    evaluation,
    falling,
    healthy_steps,
    run_case,
    step_events,
    vitals,
    warm_cosine,
)


@pytest.mark.parametrize("noise", [0.1, 0.3])
def test_a_loss_that_never_falls_is_told_with_its_terms(noise: float):
    terms = {CLASSES: np.full(800, 1.6), BOXES: np.full(800, 0.9)}
    finding = found(run_case(step_events(terms, noise=noise)), "plateau")
    assert finding is not None
    assert finding.severity == "error"
    assert finding.evidence["phase"] == "from the beginning"
    assert [row["term"] for row in finding.evidence["terms"]] == ["classification", "localization"]
    assert "--learning-rate" in finding.fix.command


def test_a_rate_that_threw_the_weights_out_is_named():
    hill = np.concatenate([np.full(20, 1.6), np.geomspace(1.6, 9.0, 80), np.full(100, 9.0)])
    terms = {CLASSES: np.concatenate([hill, np.geomspace(9.0, 1.7, 60), np.full(600, 1.7)])}
    finding = found(run_case(step_events(terms)), "plateau")
    assert finding is not None
    assert "too high" in finding.why
    assert finding.fix.set


def test_a_schedule_that_ended_is_told():
    events = healthy_steps(2000, rate=warm_cosine(2000, total=100))
    case = run_case([*events, evaluation(1000, 0.02), evaluation(2000, 0.02)])
    finding = found(case, "plateau")
    assert finding is not None
    assert finding.evidence["phase"] == "after the end of the schedule"


def test_a_level_that_is_not_good_enough_is_told():
    events = healthy_steps(2000, rate=np.full(2000, 0.01))
    scores = [evaluation(step, 0.08) for step in range(200, 2001, 200)]
    finding = found(run_case([*events, *scores]), "plateau")
    assert finding is not None
    assert finding.severity == "warning"
    assert finding.evidence["phase"] == "after a start that learned"


def test_classes_that_are_guessed_are_told():
    terms = {CLASSES: falling(1000, 1.6, 0.7), BOXES: falling(1000, 0.9, 0.2)}
    looks = [vitals(step, positive_mean=0.3, agreement=0.55) for step in range(100, 1001, 100)]
    finding = found(run_case([*step_events(terms), *looks]), "plateau")
    assert finding is not None
    assert finding.evidence["phase"] == "classes"


def test_classes_that_are_learned_are_not():
    looks = [vitals(step, positive_mean=0.3, agreement=0.8) for step in range(100, 1001, 100)]
    assert found(run_case([*healthy_steps(1000), *looks]), "plateau") is None
