"""Length, rate and averages of a training follow batch and data."""

from __future__ import annotations

import pytest

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.projects.adapting.change_schedule import Pace, schedule_changes, wanted_pace
from holdfast.projects.adapting.field_change import changed

TEXT = """
model {{ ssd {{ feature_extractor {{ conv_hyperparams {{
  batch_norm {{ train: true decay: 0.9997 }} }} }} }} }}
train_config {{ batch_size: 32 num_steps: 10000 {start}
  optimizer {{ {optimizer} {{ learning_rate {{ {rate} }} }} }} }}
"""
COSINE = (
    "cosine_decay_learning_rate { learning_rate_base: 0.08 total_steps: 10000 "
    "warmup_learning_rate: 0.02 warmup_steps: 1000 }"
)
MANUAL = (
    "manual_step_learning_rate { initial_learning_rate: 0.004 "
    "schedule { step: 5000 learning_rate: 0.0004 } }"
)
EXPONENTIAL = (
    "exponential_decay_learning_rate { initial_learning_rate: 0.004 decay_steps: 800720 "
    "decay_factor: 0.95 }"
)


def config(rate, optimizer="momentum_optimizer", start=""):
    decoded = decode(
        TEXT.format(rate=rate, optimizer=optimizer, start=start), TrainEvalPipelineConfig
    )
    assert decoded.problems == []
    return decoded.message


def rescaled(before, **pace):
    after = changed(before, schedule_changes(before, Pace(**pace)))
    name = after.train_config.optimizer.which("optimizer")
    rate = getattr(after.train_config.optimizer, name).learning_rate.chosen("learning_rate")
    return after, rate


def test_a_quarter_of_the_batch_has_a_quarter_of_the_rate_and_four_times_the_steps():
    before = config(COSINE)
    pace = wanted_pace(before, None, None, batch_size=8)
    after, rate = rescaled(before, images=None, batch_size=8, num_steps=pace.num_steps)
    assert after.train_config.batch_size == 8
    assert after.train_config.num_steps == 40_000
    assert rate.learning_rate_base == pytest.approx(0.02)
    assert rate.warmup_learning_rate == pytest.approx(0.005)
    assert (rate.total_steps, rate.warmup_steps) == (40_000, 4000)


def test_optimizers_that_divide_by_the_gradient_follow_the_root():
    _, rate = rescaled(
        config(MANUAL, "rms_prop_optimizer"), images=None, batch_size=8, num_steps=40_000
    )
    assert rate.initial_learning_rate == pytest.approx(0.002)
    assert rate.schedule[0].learning_rate == pytest.approx(0.0002)
    assert rate.schedule[0].step == 20_000


def test_a_decay_that_would_never_come_comes():
    _, rate = rescaled(config(EXPONENTIAL), images=300, batch_size=32, num_steps=1000)
    falls = 1000 / rate.decay_steps
    assert 0.95**falls == pytest.approx(0.05, rel=0.05)


def test_averages_forget_the_beginning():
    after, _ = rescaled(config(COSINE), images=300, batch_size=32, num_steps=1000)
    decay = after.train_config.optimizer.moving_average_decay
    assert 1 / (1 - decay) == pytest.approx(100, rel=0.01)
    norm = after.model.ssd.feature_extractor.conv_hyperparams.batch_norm
    assert 1 / (1 - norm.decay) == pytest.approx(100, rel=0.01)


def test_other_data_is_seen_as_often_as_before_if_that_is_known():
    before = config(COSINE)
    known = wanted_pace(before, images=6400, old_images=3200, batch_size=32)
    assert known.num_steps == 20_000
    unknown = wanted_pace(before, images=640, old_images=None, batch_size=32)
    assert unknown.num_steps == 1600  # 80 epochs
    fine = 'fine_tune_checkpoint: "x" fine_tune_checkpoint_type: "detection"'
    tuned = wanted_pace(config(COSINE, start=fine), images=640, old_images=None, batch_size=32)
    assert tuned.num_steps == 800  # 40 epochs


def test_nothing_changes_where_nothing_differs():
    before = config(COSINE)
    assert list(schedule_changes(before, Pace(images=9, batch_size=32, num_steps=10_000))) == []
