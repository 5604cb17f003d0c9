from __future__ import annotations

import math

from holdfast.training.capsule.loss_alarm import (
    FEWEST_STEPS,
    MOST_SPIKES,
    REST_STEPS,
    SPIKE_FACTOR,
    LossAlarm,
)


def settled(loss: float = 2.0) -> LossAlarm:
    alarm = LossAlarm()
    for _ in range(FEWEST_STEPS):
        alarm.stepped(loss)
    return alarm


def test_a_spike_is_some_times_the_median_once_enough_steps_are_known():
    alarm = LossAlarm()
    for step in range(FEWEST_STEPS - 1):
        assert alarm.highest(step + 1) == math.inf
        alarm.stepped(2.0)
    assert alarm.highest(FEWEST_STEPS) == math.inf
    alarm.stepped(100.0)  # one outlier does not move the median
    assert alarm.highest(FEWEST_STEPS + 1) == 2.0 * SPIKE_FACTOR


def test_after_a_spike_there_is_rest_and_after_some_there_are_no_more():
    alarm, step = settled(), FEWEST_STEPS
    for _ in range(MOST_SPIKES):
        assert math.isfinite(alarm.highest(step))
        assert alarm.why(step, 50.0) == "spike"
        assert "25 times the usual 2" in alarm.text("spike", 50.0)
        for _ in range(REST_STEPS):
            assert alarm.highest(step) == math.inf
            alarm.stepped(2.0)
    assert alarm.highest(step) == math.inf


def test_a_step_that_is_asked_for_is_no_spike():
    alarm = LossAlarm(frozenset({7}))
    assert alarm.highest(7) == -math.inf
    assert alarm.why(7, 3.0) == "requested"
    assert alarm.why(7, math.nan) == "not_finite"
