"""freeze_variables and update_trainable_variables choose what users of the OD API mean."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import keras
import pytest

from holdfast.config.load import load_config
from holdfast.errors import HoldfastError
from holdfast.models.detectors.build_detector import build_detector
from holdfast.training.build_training import build_trained_variables
from holdfast.training.step.trained_variables import TrainedVariables, choose_trained_variables


@pytest.fixture(scope="module")
def mobilenet(corpus: Path) -> keras.Model:
    return build_detector(load_config(corpus / "user_configs/user326.config"))


@pytest.fixture(scope="module")
def plain() -> keras.Model:
    """A network that the OD API never had."""
    layers = [keras.layers.Dense(2, name="first"), keras.layers.Dense(2, name="second")]
    return keras.Sequential([keras.Input((3,)), *layers], name="detector")


class StandIn:
    """What is asked of a detector here, around a network that the OD API never had."""

    def __init__(self, network, idle=()):
        self.trainable_variables = network.trainable_variables
        self.idle = idle

    @property
    def legacy(self):
        raise HoldfastError("The OD API never had it.")

    def parts(self):
        return {"backbone": SimpleNamespace(idle_blocks=self.idle)}


def paths(chosen: TrainedVariables) -> list[str]:
    return [variable.path for variable in chosen.variables]


def test_a_users_tf1_names_freeze_the_first_blocks(corpus, mobilenet):
    train = load_config(corpus / "user_configs/user326.config").train_config
    chosen = build_trained_variables(mobilenet, train)
    blocks = {path.split("/")[2] for path in chosen.frozen}
    assert blocks == {"Conv", "expanded_conv", *(f"expanded_conv_{i}" for i in range(1, 8))}
    assert {path.split("/")[1] for path in chosen.frozen} == {"backbone"}
    assert not set(paths(chosen)) & set(chosen.frozen)
    assert len(chosen.variables) + len(chosen.frozen) == len(mobilenet.trainable_variables)
    assert {choice.naming for choice in chosen.choices} == {"tf1"}


def test_a_users_names_of_another_network_are_refused_all_at_once(corpus, mobilenet):
    train = load_config(corpus / "user_configs/user330.config").train_config
    with pytest.raises(HoldfastError) as error:
        build_trained_variables(mobilenet, train)
    assert "freeze_variables" in error.value.message
    assert "Conv2d_0, Conv2d_1_pointwise, " in error.value.message
    assert "Conv2d_9_depthwise." in error.value.message
    assert "Names look like FeatureExtractor/MobilenetV2/Conv/weights" in error.value.fix


@pytest.mark.parametrize(
    ("pattern", "naming"),
    [
        ("FeatureExtractor", "tf1"),
        ("^(?!.*BoxPredictor)", "tf1"),
        ("_feature_extractor", "tf2"),
        ("^model/_feature_extractor/", "tf2"),
        ("detector/(backbone|neck)/", "holdfast"),
    ],
)
def test_the_same_part_goes_by_its_name_in_each_naming(mobilenet, pattern, naming):
    chosen = choose_trained_variables(mobilenet, freeze=[pattern])
    assert chosen.choices[0].naming == naming
    parts = {path.split("/")[1] for path in paths(chosen)}
    assert parts == {"head"}
    assert paths(chosen) == [each.path for each in mobilenet.head.trainable_variables]


def test_freezing_wins_where_both_find_a_variable(mobilenet):
    chosen = choose_trained_variables(mobilenet, update=["BoxPredictor"], freeze=["/biases"])
    assert {path.split("/")[1] for path in paths(chosen)} == {"head"}
    assert {variable.name for variable in chosen.variables} == {"kernel"}


def test_without_patterns_all_is_trained(mobilenet):
    chosen = choose_trained_variables(mobilenet)
    assert paths(chosen) == [each.path for each in mobilenet.trainable_variables]
    assert chosen.frozen == ()


def test_what_no_output_depends_on_is_not_trained(plain):
    first, second = plain.layers
    detector = StandIn(plain, idle=[second])
    assert paths(choose_trained_variables(detector)) == [each.path for each in first.weights]


def test_a_network_that_the_od_api_never_had_goes_by_its_paths(plain):
    assert paths(choose_trained_variables(StandIn(plain), freeze=["first"])) == [
        "detector/second/kernel",
        "detector/second/bias",
    ]


def test_a_name_that_is_nearly_right_is_suggested(plain):
    with pytest.raises(HoldfastError, match="names what is not a trainable") as error:
        choose_trained_variables(StandIn(plain), freeze=["detector/frst/.*"])
    assert "did you mean detector/first" in error.value.fix


def test_a_pattern_that_cannot_be_read_is_told(plain):
    with pytest.raises(HoldfastError, match=r"'a\(' is not a valid regular expression"):
        choose_trained_variables(StandIn(plain), update=["a("])


def test_freezing_everything_is_refused(plain):
    with pytest.raises(HoldfastError, match="No variable is left to train"):
        choose_trained_variables(StandIn(plain), freeze=[".*"])
