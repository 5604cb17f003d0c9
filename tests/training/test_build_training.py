"""A config's training settings become the parts they name."""

from __future__ import annotations

import keras
import pytest

from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.config.schema.optimizer import Optimizer
from holdfast.config.schema.train import TrainConfig
from holdfast.config.text.decode import decode
from holdfast.data.survey.statistics import Statistics
from holdfast.errors import HoldfastError
from holdfast.losses.class_weights import balanced_class_weights, effective_number_weights
from holdfast.training.build_training import (
    build_averages,
    build_class_weights,
    build_gradient_rules,
    build_loss_scale,
    build_optimizer,
    build_rule,
    build_schedule,
)
from holdfast.training.step.gradients import GradientRules
from holdfast.training.step.optimizers import Adam, Momentum, RMSProp
from holdfast.training.step.precision import LossScale


def read(text: str, message: type):
    decoded = decode(text, message)
    assert decoded.problems == []
    return decoded.message


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("momentum_optimizer { }", Momentum(momentum=0.9)),
        (
            "rms_prop_optimizer { decay: 0.8 momentum_optimizer_value: 0.5 }",
            RMSProp(decay=0.8, momentum=0.5, epsilon=1.0),
        ),
        ("adam_optimizer { epsilon: 0.5 }", Adam(epsilon=0.5)),
    ],
)
def test_each_optimizer_of_the_config_becomes_its_rule(text, rule):
    config = read(text, Optimizer)
    assert build_rule(config) == rule
    assert build_optimizer(config, [keras.Variable([1.0], name="kernel")]).rule == rule


def test_weight_decay_makes_adam_into_adamw_and_nothing_else():
    assert build_rule(read("adam_optimizer { }", Optimizer), weight_decay=0.01).weight_decay == 0.01
    with pytest.raises(HoldfastError, match="the config has momentum_optimizer"):
        build_rule(read("momentum_optimizer { }", Optimizer), weight_decay=0.01)


@pytest.mark.parametrize(
    "text", ["", "momentum_optimizer { }", "momentum_optimizer { learning_rate { } }"]
)
def test_an_optimizer_without_a_learning_rate_is_told(text):
    with pytest.raises(HoldfastError, match="no learning rate"):
        build_schedule(read(text, Optimizer))


def test_no_optimizer_is_told():
    with pytest.raises(HoldfastError, match="chooses no optimizer"):
        build_rule(read("", Optimizer))


def test_weights_are_averaged_unless_the_config_says_no():
    weight = keras.Variable([1.0], name="kernel")
    averages = build_averages(read("moving_average_decay: 0.5", Optimizer), [weight])
    assert averages.decay == 0.5
    assert build_averages(read("use_moving_average: false", Optimizer), [weight]) is None


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("", GradientRules(clip_norm=None, bias_multiplier=1.0)),
        (
            "gradient_clipping_by_norm: 10 bias_grad_multiplier: 2",
            GradientRules(clip_norm=10.0, bias_multiplier=2.0),
        ),
    ],
)
def test_zero_leaves_gradients_as_they_are(text, rules):
    assert build_gradient_rules(read(text, TrainConfig)) == rules


def test_only_float16_needs_a_loss_scale():
    assert isinstance(build_loss_scale("mixed_float16"), LossScale)
    assert build_loss_scale("mixed_bfloat16") is None
    assert build_loss_scale("float32") is None


LABEL_MAP = 'item { id: 1 name: "a" display_name: "ape" } item { id: 3 name: "bee" }'


@pytest.fixture
def label_map() -> StringIntLabelMap:
    return read(LABEL_MAP, StringIntLabelMap)


STATISTICS = Statistics(images=9, boxes=110, classes={"bee": 100, "ape": 10})


@pytest.mark.parametrize(
    ("choice", "weigh"), [("auto", effective_number_weights), ("inverse", balanced_class_weights)]
)
def test_counts_go_to_the_numbers_of_their_classes(label_map, choice, weigh):
    weights = build_class_weights(choice, STATISTICS, label_map, 4)
    assert weights == tuple(weigh([10, 0, 100, 0]))


def test_a_file_may_name_a_class_by_any_of_its_names(label_map, tmp_path):
    path = tmp_path / "weights.json"
    for name in ("ape", "a", "1"):
        path.write_text(f'{{"{name}": 2.0}}')
        weights = build_class_weights(str(path), STATISTICS, label_map, 3)
        assert weights == pytest.approx((2 * 110 / 120, 1.0, 110 / 120))


def test_classes_go_by_id_without_a_label_map():
    statistics = Statistics(images=9, boxes=110, classes={"3": 100, "1": 10})
    weights = build_class_weights("inverse", statistics, None, 3)
    assert weights == tuple(balanced_class_weights([10, 0, 100]))


def test_classes_of_the_data_without_a_number_are_named():
    with pytest.raises(HoldfastError, match="bee, ape have none from 1 to 3"):
        build_class_weights("auto", STATISTICS, None, 3)
