"""What a trial tells `holdfast train`: fields that fit together, and options."""

from __future__ import annotations

import pytest
from tests.cli.commands import CONFIG

from holdfast.config.check_config import check_config
from holdfast.config.load import load_config
from holdfast.config.text.overrides import apply_overrides
from holdfast.tuning.named_groups import GROUPS
from holdfast.tuning.search_space import parse_space
from holdfast.tuning.trial_settings import configured_settings, curve_of, trial_variant

COSINE = """cosine_decay_learning_rate { learning_rate_base: 0.08 total_steps: 100
  warmup_learning_rate: 0.02 warmup_steps: 10 }"""


@pytest.fixture
def cosine(config):
    config.write_text(CONFIG.replace("constant_learning_rate { learning_rate: 0.01 }", COSINE))
    return load_config(config)


def schedule(config):
    return config.train_config.optimizer.momentum_optimizer.learning_rate.cosine_decay_learning_rate


@pytest.mark.parametrize("rate", [0.001, 0.02, 0.08, 0.5])
def test_the_warm_up_never_begins_above_the_rate_that_it_rises_to(cosine, rate):
    space = parse_space(["learning-rate=log:1e-4..1"], curve_of(cosine, 100))
    variant = trial_variant(cosine, space, {"learning-rate": rate}, 100)
    changed, problems = apply_overrides(cosine, variant.overrides)
    assert not problems
    assert schedule(changed).learning_rate_base == pytest.approx(rate)
    assert schedule(changed).warmup_learning_rate <= rate


def test_a_warm_up_that_is_searched_itself_is_left_alone(cosine):
    path = curve_of(cosine, 100).path
    space = parse_space(
        ["learning-rate=log:1e-4..1", f"{path}.warmup_learning_rate=1e-5,1e-4"],
        curve_of(cosine, 100),
    )
    settings = {"learning-rate": 0.001, f"{path}.warmup_learning_rate": "1e-4"}
    changed, _ = apply_overrides(cosine, trial_variant(cosine, space, settings, 100).overrides)
    assert schedule(changed).warmup_learning_rate == pytest.approx(1e-4)


def test_a_schedule_takes_over_the_rate_that_the_trial_chose(cosine):
    space = parse_space(["learning-rate=log:1e-4..1", "schedule"], curve_of(cosine, 100))
    settings = {"learning-rate": 0.03, "schedule": "constant"}
    changed, _ = apply_overrides(cosine, trial_variant(cosine, space, settings, 90).overrides)
    rate = changed.train_config.optimizer.momentum_optimizer.learning_rate
    assert rate.constant_learning_rate.learning_rate == pytest.approx(0.03)


def test_another_optimizer_keeps_the_schedule_with_rates_that_are_usual_for_it(cosine):
    space = parse_space(["optimizer"], None)
    for label, options in (("adam", ()), ("adamw", ("--optimizer", "adamw"))):
        variant = trial_variant(cosine, space, {"optimizer": label}, 100)
        changed, _ = apply_overrides(cosine, variant.overrides)
        adam = changed.train_config.optimizer.adam_optimizer
        assert changed.train_config.optimizer.momentum_optimizer is None
        assert 0 < adam.learning_rate.cosine_decay_learning_rate.learning_rate_base < 0.01
        assert variant.options == options


@pytest.mark.parametrize(
    ("group", "label"), [(g, each) for g in GROUPS for each in GROUPS[g].labels]
)
def test_every_choice_of_every_group_is_a_config_without_errors(config, group, label):
    space = parse_space([group], None)
    variant = trial_variant(load_config(config), space, {group: label}, 90)
    report = check_config(config, variant.overrides)
    assert [each for each in report.errors if "record" not in each.message] == []
    assert bool(variant.overrides or variant.options) != (label in ("as configured", "momentum"))


def test_the_config_s_own_values_are_known_where_all_are_searched(config):
    read = load_config(config)
    curve = curve_of(read, 9)
    over = ["learning-rate=log:1e-3..1", "train_config.batch_size=2,4", "schedule"]
    assert configured_settings(read, parse_space(over, curve)) == {
        "learning-rate": pytest.approx(0.01),
        "train_config.batch_size": "4",
        "schedule": "as configured",
    }
    for other in (
        "learning-rate=log:0.1..1",
        "train_config.batch_size=1,2",
        "schedule=cosine,steps",
    ):
        assert configured_settings(read, parse_space([other], curve)) is None
