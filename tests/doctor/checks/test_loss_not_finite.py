from __future__ import annotations

import math

import numpy as np
from tests.doctor.cases import found
from tests.doctor.synthetic_runs import CLASSES, healthy_steps, run_case

from holdfast.doctor.checks.loss_not_finite import NOT_FINITE
from holdfast.runs.events import Event


def test_a_loss_that_is_nan_is_told_with_its_term():
    events = healthy_steps(200)
    events[150].values["losses"][CLASSES] = math.nan
    finding = found(run_case(events), "loss-not-finite")
    assert finding is not None
    assert finding.evidence["step"] == 151
    assert finding.evidence["terms"] == [CLASSES]


def test_growing_gradients_before_it_blame_the_rate():
    norms = np.concatenate([np.full(190, 5.0), np.geomspace(5, 5e4, 10)])
    events = [
        *healthy_steps(200, gradient_norm=norms),
        Event(201, "step", {"losses": {"a": math.inf}}),
    ]
    finding = found(run_case(events), "loss-not-finite")
    assert finding is not None
    assert "too long" in finding.why
    assert any("learning_rate" in path for path in finding.fix.set)


def test_calm_gradients_before_it_blame_the_batch_that_was_kept():
    values = {"why": NOT_FINITE, "file": "capsules/step-201.capsule", "bytes": 9}
    events = [*healthy_steps(200), Event(201, "capsule", values)]
    finding = found(run_case(events), "loss-not-finite")
    assert finding is not None
    assert "batch is special" in finding.why
    assert finding.fix.command == "holdfast replay no-such-run/capsules/step-201.capsule"


def test_a_capsule_of_a_spike_is_no_fault():
    spike = Event(100, "capsule", {"why": "spike", "file": "capsules/step-100.capsule"})
    assert found(run_case([*healthy_steps(200), spike]), "loss-not-finite") is None


def test_gradients_that_a_loss_scale_skips_now_and_then_are_no_fault():
    events = healthy_steps(200)
    for at in (10, 60, 110):
        events[at].values["gradient_norm"] = math.inf
    assert found(run_case(events), "loss-not-finite") is None
