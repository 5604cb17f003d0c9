from __future__ import annotations

from tests.doctor.cases import found
from tests.doctor.synthetic_runs import evaluation, run_case, vitals


def far(step: int, by: float = 2.5):
    return vitals(step, positive_mean=0.2, drift={"backbone/block2": (0.3, by)})


def test_statistics_that_do_not_follow_are_told():
    finding = found(run_case([far(200), far(300), far(400)]), "batch-norm-drift")
    assert finding is not None
    assert finding.severity == "error"
    assert [row["group"] for row in finding.evidence["groups"]] == ["backbone/block2"]


def test_a_run_that_detects_is_warned_at_most():
    case = run_case([far(200), far(300), far(400), evaluation(400, 0.6)])
    finding = found(case, "batch-norm-drift")
    assert finding is not None
    assert finding.severity == "warning"


def test_the_first_steps_and_small_distances_are_no_fault():
    assert found(run_case([far(20), far(50), far(100)]), "batch-norm-drift") is None
    assert found(run_case([far(300, 0.6), far(400, 0.6)]), "batch-norm-drift") is None


def test_frozen_statistics_are_the_same_in_training():
    case = run_case([far(200), far(300), far(400)], {"model.ssd.freeze_batchnorm": "true"})
    assert found(case, "batch-norm-drift") is None
