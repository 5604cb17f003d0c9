"""Learning rates equal the OD API's, step by step."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from holdfast.config.schema.optimizer import Optimizer
from holdfast.config.text.decode import decode
from holdfast.training.build_training import build_schedule
from holdfast.training.step.schedules import (
    Schedule,
    cosine_decay,
    cosine_restarts,
    manual_steps,
    one_cycle,
)

NAMES = (
    *("constant", "exponential_staircase", "exponential_smooth", "exponential_burnin_min"),
    *("exponential_burnin_default_lr", "manual_step", "manual_step_warmup", "cosine"),
    *("cosine_hold", "cosine_no_warmup", "cosine_defaults", "exponential_defaults"),
    "constant_defaults",
)


def schedule_of(text: str) -> Schedule:
    decoded = decode(f"momentum_optimizer {{ learning_rate {{ {text} }} }}", Optimizer)
    assert decoded.problems == []
    return build_schedule(decoded.message)


@pytest.fixture(scope="module")
def goldens(shared: Path) -> dict:
    return json.loads((shared / "goldens/_units/learning_rates.json").read_text())


def test_every_golden_schedule_is_compared(goldens):
    assert set(NAMES) == set(goldens["schedules"])


@pytest.mark.parametrize("name", NAMES)
def test_rates_equal_the_od_api(goldens, name):
    golden = goldens["schedules"][name]
    schedule = schedule_of(golden["config"])
    rates = [float(schedule(step)) for step in goldens["steps"]]
    np.testing.assert_allclose(rates, golden["values"], rtol=2e-6, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_a_tensor_in_a_traced_function_gives_what_an_int_gives(goldens, name, dtype):
    schedule = schedule_of(goldens["schedules"][name]["config"])
    traced = tf.function(schedule)
    for step in (0, 1, 500, 1000, 1001, 3000, 60000):
        rate = traced(tf.constant(step, dtype))
        assert rate.dtype == tf.float32
        assert rate.shape == ()
        np.testing.assert_allclose(rate, schedule(step), rtol=1e-6, atol=1e-9)


@given(
    total=st.integers(1, 50),
    warmup=st.integers(0, 50),
    hold=st.integers(0, 60),
    step=st.integers(0, 99),
)
def test_a_cosine_stays_between_zero_and_its_base(total, warmup, hold, step):
    rate = cosine_decay(
        step,
        learning_rate_base=0.5,
        total_steps=total,
        warmup_learning_rate=0.1,
        warmup_steps=min(warmup, total),
        hold_base_rate_steps=hold,
    )
    assert 0.0 <= float(rate) <= 0.5
    assert step <= total or float(rate) == 0.0


def test_a_warm_up_that_lasts_to_the_end_ends_at_the_base():
    rate = cosine_decay(10, learning_rate_base=0.5, total_steps=10, warmup_steps=10)
    assert float(rate) == 0.5


def test_manual_steps_from_step_0_on_leave_the_first_rate_out():
    rates = [
        float(manual_steps(step, boundaries=[0, 3], rates=[9, 1, 2], warmup=True))
        for step in (0, 2, 3)
    ]
    assert rates == [1.0, 1.0, 2.0]


def test_restarts_come_after_ever_longer_periods_and_begin_lower():
    settings = {"rate": 0.8, "period": 100, "multiplier": 2.0, "decay": 0.5}
    rates = [float(cosine_restarts(step, **settings)) for step in range(700)]
    tops = [step for step in range(1, 700) if rates[step] > rates[step - 1]]
    assert tops == [100, 300]
    np.testing.assert_allclose([rates[0], *(rates[step] for step in tops)], [0.8, 0.4, 0.2], 1e-5)
    # Of the second period, halfway: half of its first rate.
    assert rates[200] == pytest.approx(0.2, rel=1e-4)


def test_restarts_of_equal_periods_warm_up_once():
    settings = {"rate": 1.0, "period": 10, "multiplier": 1.0, "warmup": 4}
    rates = [float(cosine_restarts(step, **settings)) for step in range(25)]
    np.testing.assert_allclose(rates[:5], [0.0, 0.25, 0.5, 0.75, 1.0])
    assert [step for step in range(5, 25) if rates[step] == 1.0] == [14, 24]


def test_one_cycle_rises_once_falls_once_and_stays_low():
    rates = [float(one_cycle(step, rate=0.1, steps=200, rise=0.25)) for step in range(260)]
    assert int(np.argmax(rates)) == 50
    assert rates[50] == pytest.approx(0.1)
    assert all(np.diff(rates[:51]) > 0)
    assert all(np.diff(rates[50:201]) <= 0)
    assert rates[0] == pytest.approx(0.004)
    np.testing.assert_allclose(rates[200:], 4e-7, rtol=1e-2)
