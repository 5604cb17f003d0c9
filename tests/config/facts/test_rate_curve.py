from __future__ import annotations

import pytest

from holdfast.config.facts.rate_curve import RateCurve, rate_at, rate_curve
from holdfast.config.schema.optimizer import (
    ConstantLearningRate,
    CosineDecayLearningRate,
    ExponentialDecayLearningRate,
    LearningRate,
    LearningRateSchedule,
    ManualStepLearningRate,
    MomentumOptimizer,
    Optimizer,
)
from holdfast.training import build_training

ENTRIES = (
    LearningRateSchedule(step=10, learning_rate=0.5),
    LearningRateSchedule(step=30, learning_rate=0.05),
)
SCHEDULES = [
    ConstantLearningRate(learning_rate=0.3),
    CosineDecayLearningRate(
        learning_rate_base=0.8, total_steps=40, warmup_learning_rate=0.1, warmup_steps=10
    ),
    CosineDecayLearningRate(
        learning_rate_base=0.8, total_steps=40, warmup_steps=0, hold_base_rate_steps=5
    ),
    ExponentialDecayLearningRate(initial_learning_rate=1.0, decay_steps=7, decay_factor=0.5),
    ExponentialDecayLearningRate(
        initial_learning_rate=1.0,
        decay_steps=7,
        decay_factor=0.5,
        staircase=False,
        burnin_learning_rate=0.1,
        burnin_steps=9,
        min_learning_rate=0.2,
    ),
    ManualStepLearningRate(initial_learning_rate=0.1, schedule=ENTRIES),
    ManualStepLearningRate(initial_learning_rate=0.1, schedule=ENTRIES, warmup=True),
]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda each: type(each).__name__)
def test_rates_are_those_of_the_training(schedule):
    field = next(
        name
        for name, each in LearningRate.__annotations__.items()
        if type(schedule).__name__ in each
    )
    rate = LearningRate(**{field: schedule})
    optimizer = Optimizer(momentum_optimizer=MomentumOptimizer(learning_rate=rate))
    trained = build_training.build_schedule(optimizer)
    for step in range(50):
        assert rate_at(schedule, step) == pytest.approx(float(trained(step)), rel=1e-5, abs=1e-7)


def test_scaled_rates_scale_the_whole_curve():
    curve = RateCurve(schedule=SCHEDULES[-1], path="rate", num_steps=40)
    assert curve.scaled(0.1) == {
        "rate.initial_learning_rate": "0.01",
        "rate.schedule[0].learning_rate": "0.05",
        "rate.schedule[1].learning_rate": "0.005",
    }


def test_without_a_schedule_there_is_no_curve():
    assert rate_curve(Optimizer(), 100) is None
