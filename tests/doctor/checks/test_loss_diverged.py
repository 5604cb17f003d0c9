from __future__ import annotations

import numpy as np
import pytest
from tests.doctor.cases import found
from tests.doctor.synthetic_runs import BOXES, CLASSES, healthy_steps, run_case, step_events


@pytest.mark.parametrize("noise", [0.1, 0.4])
def test_a_loss_that_climbs_above_its_beginning_is_told(noise: float):
    climb = np.concatenate([np.full(30, 1.5), np.geomspace(1.5, 40.0, 70), np.full(100, 40.0)])
    events = step_events({CLASSES: climb, BOXES: climb / 2}, noise=noise)
    finding = found(run_case(events), "loss-diverged")
    assert finding is not None
    assert finding.severity == "error"
    assert finding.evidence["loss_now"] > 10
    assert any("learning_rate" in path for path in finding.fix.set)


def test_what_had_learned_and_lost_it_is_told():
    loss = np.concatenate([np.geomspace(4.0, 0.3, 500), np.full(300, 2.5)])
    finding = found(run_case(step_events({CLASSES: loss})), "loss-diverged")
    assert finding is not None
    assert finding.evidence["best_at_steps"].split()[-1] <= "500"


def test_spikes_that_pass_are_no_divergence():
    loss = np.concatenate([np.geomspace(4.0, 0.3, 500), np.full(20, 20.0), np.full(300, 0.3)])
    assert found(run_case(step_events({CLASSES: loss})), "loss-diverged") is None
    assert found(run_case(healthy_steps(19)), "loss-diverged") is None
