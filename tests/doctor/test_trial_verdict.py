from __future__ import annotations

import math

import pytest

from holdfast.doctor.trial_verdict import MeasuredArm, judge, measured


def arm(precision: float | None, loss: float | None = 1.0) -> MeasuredArm:
    return MeasuredArm(precision=precision, loss=loss)


@pytest.mark.parametrize(
    ("before", "after", "other", "offered"),
    [
        (0.10, 0.40, 0.12, True),
        (0.10, 0.13, 0.12, False),  # another seed does nearly as much
        (0.30, 0.20, 0.31, False),
        (0.00, 0.35, 0.00, True),
        (0.300, 0.305, 0.300, False),  # too little to be worth it
    ],
)
def test_a_fix_is_judged_by_its_gain_against_the_noise(before, after, other, offered):
    verdict = judge(arm(before), arm(after), arm(other), compares_loss=True)
    assert (verdict.judged_by, verdict.is_offered) == ("mAP", offered)
    assert verdict.gain == pytest.approx(after - before)
    assert ("withdrawn" in verdict.text) is not offered


def test_where_nothing_is_detected_yet_the_loss_judges():
    verdict = judge(arm(0.0, 3.0), arm(0.001, 1.5), arm(0.0, 2.9), compares_loss=True)
    assert (verdict.judged_by, verdict.is_offered) == ("loss", True)
    assert verdict.gain == pytest.approx(0.5)
    within = judge(arm(0.0, 3.0), arm(0.0, 2.8), arm(0.0, 2.5), compares_loss=True)
    assert not within.is_offered


def test_losses_of_another_kind_are_not_compared():
    verdict = judge(arm(0.0, 3.0), arm(0.0, 0.3), arm(0.0, 3.0), compares_loss=False)
    assert (verdict.judged_by, verdict.is_offered) == ("mAP", False)


def test_a_training_that_failed_is_the_worst():
    assert judge(arm(None, None), arm(0.0, 3.0), arm(None, None), compares_loss=True).is_offered
    assert not judge(arm(0.0, 3.0), arm(None, None), arm(0.0, 3.0), compares_loss=True).is_offered


def test_the_loss_is_the_level_at_the_end():
    assert measured(None, [9.0] * 50 + [2.0, 2.1, 1.9] * 10 + [math.nan]).loss == pytest.approx(2.0)
    assert measured(0.5, []).loss is None
