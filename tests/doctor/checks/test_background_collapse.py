from __future__ import annotations

from tests.doctor.cases import found
from tests.doctor.synthetic_runs import healthy_steps, run_case, vitals


def looks(scores: list[float]):
    return [vitals(100 * at, positive_mean=score) for at, score in enumerate(scores, 1)]


def test_scores_of_nearly_nothing_are_told():
    case = run_case([*healthy_steps(800), *looks([0.02, 0.012, 0.01, 0.01, 0.01, 0.01, 0.01])])
    finding = found(case, "background-collapse")
    assert finding is not None
    assert finding.severity == "error"
    assert finding.evidence["positive_mean_score"] == 0.01


def test_scores_that_rise_from_their_prior_are_not():
    case = run_case([*healthy_steps(400), *looks([0.01, 0.012, 0.03, 0.04])])
    assert found(case, "background-collapse") is None
    case = run_case([*healthy_steps(800), *looks([0.01, 0.05, 0.2, 0.3, 0.35, 0.4, 0.4])])
    assert found(case, "background-collapse") is None
