"""An optimizer or a schedule instead of the config's: read, completed, kept by the run."""

from __future__ import annotations

import re

import pytest

from holdfast.config.schema.optimizer import Optimizer
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.config.text.decode import decode
from holdfast.errors import HoldfastError
from holdfast.runs.run import Run
from holdfast.training.build_training import (
    alike_in_memory,
    build_chosen_rule,
    build_schedule,
    completed_choice,
)
from holdfast.training.open_journal import open_journal
from holdfast.training.optimization_choice import OptimizationChoice, read_pruning
from holdfast.training.step.decoupled_optimizers import DecoupledRMSProp, Lion
from holdfast.training.step.optimizers import Adam
from holdfast.training.training_settings import TrainingSettings

MOMENTUM = """momentum_optimizer { learning_rate { cosine_decay_learning_rate {
  learning_rate_base: 0.04 total_steps: 100 warmup_learning_rate: 0.01 warmup_steps: 10 } } }"""


@pytest.fixture
def config() -> Optimizer:
    return decode(MOMENTUM, Optimizer).message


def test_each_name_is_the_rule_it_names():
    adamw = build_chosen_rule("adamw,weight_decay=0.05")
    assert adamw == Adam(weight_decay=0.05, epsilon=1e-7)
    assert build_chosen_rule("lion") == Lion(weight_decay=0.004)
    assert isinstance(build_chosen_rule("rmsprop_decoupled,momentum=0.9"), DecoupledRMSProp)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("adamv", "Did you mean adamw"),
        ("adamw,wait_decay=1", "Did you mean weight_decay"),
        ("lion,weight_decay=much", "not a number"),
    ],
)
def test_what_cannot_be_read_is_named_with_what_is_near(text, message):
    with pytest.raises(HoldfastError) as error:
        build_chosen_rule(text)
    assert message in f"{error.value.message} {error.value.fix}"


def test_a_schedule_without_a_rate_takes_the_configs_highest_and_the_runs_steps(config):
    choice = completed_choice(OptimizationChoice(schedule="one_cycle"), config, 200)
    rates = build_schedule(config, choice.schedule)
    highest = max(float(rates(step)) for step in range(200))
    assert highest == pytest.approx(0.04, rel=1e-3)
    assert float(rates(200)) < 1e-6
    # Complete, it stays what it is.
    assert completed_choice(choice, config, 400) == choice


def test_pruning_is_spread_over_the_run_and_stays_complete(config):
    choice = completed_choice(OptimizationChoice(prune="0.5"), config, 2000)
    assert choice.prune == "0.5,begin=200,end=1200,every=20"
    assert completed_choice(choice, config, 4000) == choice


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("half", "not a number"),
        ("nan", "not a number"),
        ("50", "a share of 50"),
        ("1.0", "a share of 1"),
        ("0.5,ende=100", "Did you mean end"),
        ("0.5,end=soon", "not a number"),
        ("0.5,begin=50,end=20", "not within a run of 100 steps"),
        ("0.5,end=100", "not within a run of 100 steps"),
        ("0.5,every=0", "not within a run of 100 steps"),
    ],
)
def test_a_pruning_that_cannot_be_is_refused(text, message):
    with pytest.raises(HoldfastError) as error:
        read_pruning(text, 100)
    assert message in f"{error.value.message} {error.value.fix}"


def test_the_plan_counts_what_the_optimizer_remembers(config):
    train = TrainConfig(optimizer=config)
    planned = alike_in_memory(train, "adamw,weight_decay=0.1").optimizer
    assert planned.which("optimizer") == "adam_optimizer"
    assert planned.adam_optimizer.learning_rate == config.momentum_optimizer.learning_rate
    assert alike_in_memory(train, None) == train


def test_a_run_keeps_its_optimizer_and_refuses_another(tmp_path):
    config, run = TrainEvalPipelineConfig(), tmp_path / "run"
    settings = TrainingSettings(optimization=OptimizationChoice(optimizer="lion,weight_decay=0.1"))
    with open_journal(config, run, settings, tmp_path):
        pass
    assert Run.open(run).manifest.facts["optimization"] == {"optimizer": "lion,weight_decay=0.1"}
    (run / "checkpoints" / "step-00000005").mkdir(parents=True)
    with open_journal(config, run, settings, tmp_path):
        pass
    with (
        pytest.raises(HoldfastError, match=re.escape('--optimizer: "lion,weight_decay=0.1"')),
        open_journal(config, run, TrainingSettings(), tmp_path),
    ):
        pass
