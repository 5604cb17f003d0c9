from __future__ import annotations

import pytest
from tests.doctor.cases import found
from tests.doctor.synthetic_runs import BOXES, CLASSES, evaluation, healthy_steps, run_case

STEPS = range(200, 2001, 200)


def evaluated(losses: list[float], scores: list[float]):
    return [
        evaluation(step, score, losses={CLASSES: loss * 0.7, BOXES: loss * 0.3})
        for step, loss, score in zip(STEPS, losses, scores, strict=True)
    ]


RISING = [1.2, 0.9, 0.8, 0.82, 0.9, 0.95, 1.0, 1.1, 1.2, 1.25]


@pytest.mark.parametrize(
    ("scores", "severity"), [([0.3, 0.5, 0.6, 0.55] + [0.5] * 6, "warning"), ([0.6] * 10, "note")]
)
def test_an_evaluation_that_gets_worse_is_told(scores: list[float], severity: str):
    finding = found(
        run_case([*healthy_steps(2000, noise=0.1), *evaluated(RISING, scores)]), "overfitting"
    )
    assert finding is not None
    assert finding.severity == severity
    assert finding.evidence["best_evaluation_step"] == 600


def test_an_evaluation_that_wobbles_is_not():
    wobbling = [1.2, 0.9, 0.8, 0.85, 0.78, 0.83, 0.79, 0.84, 0.78, 0.85]
    case = run_case([*healthy_steps(2000), *evaluated(wobbling, [0.5] * 10)])
    assert found(case, "overfitting") is None
