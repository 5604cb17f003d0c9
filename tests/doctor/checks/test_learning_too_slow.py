from __future__ import annotations

import numpy as np
import pytest
from tests.doctor.cases import found
from tests.doctor.synthetic_runs import BOXES, CLASSES, healthy_steps, run_case, step_events


@pytest.mark.parametrize(("planned", "severity"), [(1000, "error"), (4000, "warning")])
def test_a_loss_that_creeps_is_told(planned: int, severity: str):
    terms = {CLASSES: np.linspace(1.6, 1.2, 1000), BOXES: np.linspace(0.9, 0.8, 1000)}
    case = run_case(step_events(terms, noise=0.1), overrides={"train_config.num_steps": planned})
    finding = found(case, "learning-too-slow")
    assert finding is not None
    assert finding.severity == severity
    assert any("learning_rate" in path for path in finding.fix.set)


def test_at_the_beginning_of_a_long_run_nothing_is_said_yet():
    terms = {CLASSES: np.linspace(1.6, 1.2, 1000)}
    case = run_case(step_events(terms, noise=0.1), overrides={"train_config.num_steps": 100000})
    assert found(case, "learning-too-slow") is None
    assert found(run_case(healthy_steps(1000)), "learning-too-slow") is None
