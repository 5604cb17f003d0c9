from __future__ import annotations

import numpy as np
from tests.doctor.cases import found
from tests.doctor.synthetic_runs import (
    BOXES,
    CLASSES,
    evaluation,
    falling,
    healthy_steps,
    run_case,
    step_events,
)

STUCK = {CLASSES: falling(900, 1.6, 0.3), BOXES: np.full(900, 0.9)}


def test_boxes_that_are_not_learned_are_told():
    finding = found(run_case([*step_events(STUCK), evaluation(900, 0.03)]), "localization-stuck")
    assert finding is not None
    assert finding.evidence["localization_now"] > 0.8


def test_boxes_that_are_good_already_are_not():
    case = run_case([*step_events(STUCK), evaluation(900, 0.6)])
    assert found(case, "localization-stuck") is None
    assert found(run_case(healthy_steps(900)), "localization-stuck") is None


def test_a_second_stage_that_gets_more_to_learn_is_no_fault():
    stages = {
        "Loss/RPNLoss/localization_loss": falling(900, 0.3, 0.1),
        "Loss/RPNLoss/objectness_loss": falling(900, 0.7, 0.1),
        "Loss/BoxClassifierLoss/localization_loss": np.linspace(0.1, 0.8, 900),
        "Loss/BoxClassifierLoss/classification_loss": falling(900, 2.0, 0.4),
    }
    assert found(run_case(step_events(stages)), "localization-stuck") is None
