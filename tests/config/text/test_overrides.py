from __future__ import annotations

import math
from typing import Any

import pytest

from holdfast.config.schema.hyperparams import Activation
from holdfast.config.schema.image_resizer import FixedShapeResizer
from holdfast.config.schema.input_reader import InputReader, TFRecordInputReader
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.config.text.decode import decode
from holdfast.config.text.encode import encode, to_json
from holdfast.config.text.overrides import apply_overrides, split_assignment
from holdfast.errors import Problem

from ..texts import config

XY_PAIRS = (
    "model.ssd.post_processing.calibration_config"
    ".class_id_function_approximations.class_id_xy_pairs_map"
)
SIGMAS = "eval_config.parameterized_metric[0].coco_keypoint_metrics.keypoint_label_to_sigmas"


def override(path: str, value: Any, message: Any = None) -> Any:
    """Set one path of the config, which must work, and check that the result can be written."""
    changed, problems = apply_overrides(message or config(), {path: value})
    assert problems == []
    written = decode(encode(changed), type(changed))
    assert written.problems == []
    assert to_json(written.message) == to_json(changed)
    return changed


def at(message: Any, path: str) -> Any:
    """Look a value up by a path of names and indices."""
    for step in path.replace("[", ".").replace("]", "").split("."):
        message = message[int(step)] if step.isdecimal() else getattr(message, step)
    return message


def refused(path: str, value: Any) -> Problem:
    """Set one path, which must be refused without changing anything."""
    changed, problems = apply_overrides(config(), {path: value})
    assert changed == config()
    (problem,) = problems
    assert problem.message.startswith("override: ")
    assert problem.severity == "error"
    assert problem.line is None
    return problem


# Single values.


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("train_config.batch_size", "16", 16),
        ("train_config.batch_size", "0x10", 16),
        ("train_config.batch_size", "010", 8),
        ("train_config.num_steps", "4294967295", 4294967295),
        ("train_input_reader.frame_index", "-3", -3),
        ("train_config.gradient_clipping_by_norm", "10", 10.0),
        ("train_config.gradient_clipping_by_norm", "1e-3f", 0.001),
        ("train_config.gradient_clipping_by_norm", "inf", math.inf),
        ("train_config.gradient_clipping_by_norm", "-inf", -math.inf),
        ("train_config.sync_replicas", "true", True),
        ("train_config.sync_replicas", "True", True),
        ("train_config.sync_replicas", "0", False),
        ("train_config.fine_tune_checkpoint", "a/b", "a/b"),
        ("train_config.fine_tune_checkpoint", "", ""),
        ("train_config.fine_tune_checkpoint", "with space # and, more", "with space # and, more"),
        ("train_config.fine_tune_checkpoint", r"C:\train\new", r"C:\train\new"),
        ("train_config.fine_tune_checkpoint", '"a/b"', "a/b"),
        ("train_config.fine_tune_checkpoint", "'a\"b'", 'a"b'),
        ("train_config.fine_tune_checkpoint", r'"C:\\train"', r"C:\train"),
        ("train_config.fine_tune_checkpoint", r'"\303\251"', "é"),
        ("train_config.fine_tune_checkpoint", '"a" "b"', "ab"),
        ("train_config.fine_tune_checkpoint", "12", "12"),
        ("model.ssd.feature_extractor.conv_hyperparams.activation", "NONE", Activation.NONE),
        ("model.ssd.feature_extractor.conv_hyperparams.activation", "1", Activation.RELU),
    ],
)
def test_a_text_is_read_as_in_the_file(path: str, text: str, value: Any):
    new = at(override(path, text), path)
    assert new == value
    assert type(new) is type(value)


def test_nan_can_be_set():
    changed = override("train_config.gradient_clipping_by_norm", "nan")
    assert math.isnan(changed.train_config.gradient_clipping_by_norm)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("train_config.batch_size", 16),
        ("train_config.gradient_clipping_by_norm", 0.1),
        ("train_config.sync_replicas", True),
        ("train_config.fine_tune_checkpoint", "a/b"),
        ("model.ssd.feature_extractor.conv_hyperparams.activation", Activation.RELU),
        ("train_config.freeze_variables", ("a", "b, c")),
        ("model.ssd.anchor_generator.multiscale_anchor_generator.aspect_ratios", (1.0, 0.25)),
        ("eval_config.super_categories", {"animal": "cat,dog"}),
        (
            "model.ssd.image_resizer.fixed_shape_resizer",
            FixedShapeResizer(height=64),
        ),
        ("eval_input_reader", (InputReader(shuffle=False), InputReader(name="second"))),
    ],
)
def test_a_python_value_is_kept(path: str, value: Any):
    new = at(override(path, value), path)
    assert new == value
    assert type(new) is type(value)


def test_false_is_a_value_and_not_nothing():
    changed = override(
        "train_config.sync_replicas", False, config(("batch_size: 8", "sync_replicas: true"))
    )
    assert changed.train_config.has("sync_replicas")
    assert changed.train_config.sync_replicas is False


def test_python_values_are_fitted_to_the_field_as_the_file_would():
    clip = "train_config.gradient_clipping_by_norm"
    assert type(at(override(clip, 10), clip)) is float
    activation = "model.ssd.feature_extractor.conv_hyperparams.activation"
    assert at(override(activation, 1), activation) is Activation.RELU
    variables = "train_config.freeze_variables"
    assert at(override(variables, ["a", "b"]), variables) == ("a", "b")


def test_a_float_is_rounded_to_float32_as_the_od_api_stores_it():
    path = "train_config.gradient_clipping_by_norm"
    assert at(override(path, 0.039999999105930), path) == 0.04
    assert at(override(path, "0.1000000001"), path) == 0.1


# Messages and oneofs.


def test_a_block_replaces_the_whole_message():
    changed = override("model.ssd.image_resizer.fixed_shape_resizer", "{ height: 64 }")
    resizer = changed.model.ssd.image_resizer.fixed_shape_resizer
    assert (resizer.height, resizer.has("width"), resizer.width) == (64, False, 300)


def test_a_path_into_a_block_keeps_its_other_fields():
    changed = override("model.ssd.image_resizer.fixed_shape_resizer.height", "64")
    resizer = changed.model.ssd.image_resizer.fixed_shape_resizer
    assert (resizer.height, resizer.width) == (64, 320)


def test_messages_on_the_way_are_made():
    changed = override("graph_rewriter.quantization.delay", "7")
    assert changed.graph_rewriter.quantization.delay == 7
    empty = override("train_config.batch_size", "7", TrainEvalPipelineConfig())
    assert to_json(empty) == {"train_config": {"batch_size": 7}}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("model.ssd.image_resizer.keep_aspect_ratio_resizer", "{ min_dimension: 5 }"),
        ("model.ssd.image_resizer.keep_aspect_ratio_resizer.min_dimension", 5),
    ],
)
def test_a_member_of_a_oneof_replaces_the_other(path: str, value: Any):
    resizer = override(path, value).model.ssd.image_resizer
    assert to_json(resizer) == {"keep_aspect_ratio_resizer": {"min_dimension": 5}}


def test_fields_beside_a_oneof_survive_its_switch():
    optimizer = override(
        "train_config.optimizer.adam_optimizer.epsilon", 0.5
    ).train_config.optimizer
    assert to_json(optimizer) == {"adam_optimizer": {"epsilon": 0.5}, "use_moving_average": False}


# Clearing.


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("train_config.batch_size", None),
        ("train_config.batch_size", ""),
        ("train_config.fine_tune_checkpoint", None),
        ("train_config.optimizer", None),
        ("train_config.data_augmentation_options", None),
        ("train_config.data_augmentation_options", "[]"),
        ("train_config.data_augmentation_options", []),
    ],
)
def test_a_field_is_unset_by_none_and_by_nothing(path: str, value: Any):
    changed = override(path, value)
    name = path.rpartition(".")[2]
    assert changed.train_config == config().train_config.without(name)
    assert not changed.train_config.has(name)


def test_an_unset_field_reads_as_its_default():
    assert override("train_config.batch_size", None).train_config.batch_size == 32


def test_a_list_of_texts_is_emptied_by_brackets_and_keeps_an_empty_text():
    message = TrainConfig(freeze_variables=("a", "b"))
    for nothing in ("[]", "[ ]", ""):
        assert override("freeze_variables", nothing, message).freeze_variables == ()
    assert override("freeze_variables", [""], message).freeze_variables == ("",)


@pytest.mark.parametrize("path", ["model.faster_rcnn", "model.faster_rcnn.num_classes"])
def test_clearing_a_member_that_is_not_set_keeps_the_other_one(path: str):
    assert override(path, None) == config()


def test_clearing_something_in_a_missing_message_does_not_make_the_message():
    assert not override("graph_rewriter.quantization.delay", None).has("graph_rewriter")
    assert len(override("eval_input_reader[1].shuffle", None).eval_input_reader) == 1


# Lists.


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("anchor_scale", "2", None),
        ("aspect_ratios", "[3, 4]", (3.0, 4.0)),
        ("aspect_ratios", "3", (3.0,)),
        ("aspect_ratios[0]", "3", (3.0, 2.0, 0.5)),
        ("aspect_ratios[2]", "3", (1.0, 2.0, 3.0)),
        ("aspect_ratios[3]", "3", (1.0, 2.0, 0.5, 3.0)),
        ("aspect_ratios[1]", None, (1.0, 0.5)),
        ("aspect_ratios[3]", None, (1.0, 2.0, 0.5)),
    ],
)
def test_a_list_is_replaced_whole_or_by_index_and_appended_to(path: str, text: str, value: Any):
    changed = override(f"model.ssd.anchor_generator.multiscale_anchor_generator.{path}", text)
    ratios = changed.model.ssd.anchor_generator.multiscale_anchor_generator.aspect_ratios
    assert ratios == (value or (1.0, 2.0, 0.5))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a", ("a",)),
        ("a, b", ("a, b",)),
        ("[a, b]", ("a", "b")),
        ("[a]", ("a",)),
        ('["a", "b, c"]', ("a", "b, c")),
        ("['a', b c]", ("a", "b c")),
        (r'["a\"b", "c"]', ('a"b', "c")),
        ('"[a, b]"', ("[a, b]",)),
        ("[a, b", ("[a, b",)),
        ("a, b]", ("a, b]",)),
    ],
)
def test_a_list_of_texts_needs_no_quotes(text: str, value: tuple[str, ...]):
    assert override("freeze_variables", text, TrainConfig()).freeze_variables == value


def test_an_element_that_is_a_message_is_replaced_changed_and_appended():
    options = "train_config.data_augmentation_options"
    replaced = override(f"{options}[0]", "{ random_vertical_flip { } }")
    names = [each.which("preprocessing_step") for each in at(replaced, options)]
    assert names == ["random_vertical_flip", "random_crop_image"]
    changed = override(f"{options}[1].random_crop_image.min_area", "0.5")
    assert at(changed, f"{options}[1].random_crop_image.min_area") == 0.5
    appended = override(f"{options}[2].random_rotation90.probability", "0.25")
    assert at(appended, f"{options}[2].random_rotation90.probability") == 0.25
    assert at(appended, options)[:2] == at(config(), options)


def test_a_list_of_messages_is_replaced_by_one_block_or_by_several():
    one = override("eval_input_reader", "{ name: 'a' }")
    assert [reader.name for reader in one.eval_input_reader] == ["a"]
    two = override("eval_input_reader", "[{ name: 'a' }, { name: 'b' }]")
    assert [reader.name for reader in two.eval_input_reader] == ["a", "b"]


# Maps.


def test_a_map_is_replaced_whole():
    whole = "[{ key: 'a' value: 'x' }, { key: 'b' value: 'y' }]"
    changed = override("eval_config.super_categories", whole)
    assert changed.eval_config.super_categories == {"a": "x", "b": "y"}
    one = override("eval_config.super_categories", "{ key: 'c' value: 'z' }", changed)
    assert one.eval_config.super_categories == {"c": "z"}


@pytest.mark.parametrize("nothing", [None, "", "[]", {}])
def test_a_map_is_emptied(nothing: Any):
    full = override("eval_config.super_categories", {"a": "x"})
    emptied = override("eval_config.super_categories", nothing, full)
    assert emptied.eval_config.super_categories == {}
    assert emptied == config()


def test_one_entry_of_a_map_is_set_changed_and_removed():
    path = "eval_config.super_categories"
    first = override(f"{path}[a]", "x")
    second = override(f'{path}["b.c"]', "y", first)
    assert second.eval_config.super_categories == {"a": "x", "b.c": "y"}
    changed = override(f"{path}[a]", "z", second)
    assert changed.eval_config.super_categories == {"a": "z", "b.c": "y"}
    assert override(f"{path}[a]", None, changed).eval_config.super_categories == {"b.c": "y"}


def test_keys_and_values_of_maps_are_of_their_kind():
    pairs = override(f"{XY_PAIRS}[7].training_data_type", "ALL_CLASSES")
    assert to_json(at(pairs, XY_PAIRS)[7]) == {"training_data_type": "ALL_CLASSES"}
    sigmas = override(f"{SIGMAS}[nose]", "0.026")
    assert at(sigmas, SIGMAS) == {"nose": 0.026}


# What is refused.


@pytest.mark.parametrize(
    ("path", "value", "place", "message", "fix"),
    [
        (
            "train_config.bach_size",
            8,
            "train_config.bach_size",
            "no field `bach_size`",
            "batch_size",
        ),
        ("trian_config.batch_size", 8, "trian_config", "no field `trian_config`", "train_config"),
        (
            "model.ssd.loss.zzz",
            1,
            "model.ssd.loss.zzz",
            "no field `zzz`",
            "valid: localization_loss",
        ),
        ("train_config.batch_size", "many", None, "`many` is not a whole number", ""),
        ("train_config.batch_size", "8.5", None, "`8.5` is not a whole number", ""),
        ("train_config.batch_size", "-1", None, "out of range", ""),
        ("train_config.batch_size", 2**32, None, "out of range", ""),
        ("train_config.batch_size", "8 9", None, "`8 9` is not a value", "a number alone"),
        ("train_config.batch_size", "8 num_steps: 9", None, "more than one value", "one value"),
        ("train_config.batch_size", '"8"', None, '"8" is a text', "write 8, without quotes"),
        ("train_config.batch_size", "[8]", None, "one value, not a list", "remove the [ ]"),
        ("train_config.batch_size", "{ }", None, "a block is not allowed here", ""),
        ("train_config.batch_size", 8.0, None, "`8.0` is not a whole number", ""),
        ("train_config.batch_size", True, None, "`true` is not a whole number", ""),
        ("train_config.batch_size", [8], None, "`[8]` is not a whole number", ""),
        ("train_config.sync_replicas", "maybe", None, "`maybe` is neither true nor false", ""),
        ("train_config.sync_replicas", "yes", None, "neither true nor false", "true or false"),
        ("train_config.gradient_clipping_by_norm", "big", None, "`big` is not a number", ""),
        ("train_config.fine_tune_checkpoint", '"half', None, "closing quote is missing", ""),
        ("train_config.fine_tune_checkpoint", '"a", "b"', None, "is not a value", "pair of quotes"),
        ("train_config.fine_tune_checkpoint", r'"C:\xyz"', None, "not complete", "/ instead of"),
        ("train_config.fine_tune_checkpoint", 3, None, "`3` is not a text", ""),
        ("train_config.fine_tune_checkpoint_version", "V3", None, "not one of UNKNOWN, V1", "V1"),
        ("train_config.fine_tune_checkpoint_version", "9", None, "not one of UNKNOWN, V1, V2", ""),
        ("train_config.optimizer", "adam", None, "is where a block is expected", "optimizer { … }"),
        ("train_config.optimizer", {"adam_optimizer": {}}, None, "not a block", "a block"),
        ("train_config.optimizer", TrainConfig(), None, "it is a TrainConfig", "give Optimizer"),
        ("train_config.optimizer", "{ adam { } }", None, "no field `adam`", "adam_optimizer"),
        ("train_config.optimizer", "{ adam_optimizer { }", None, "still open", "missing `}`"),
        ("train_config.batch_size.x", "1", "train_config.batch_size", "has no fields", ""),
        ("train_config.batch_size[0]", "1", "train_config.batch_size", "not a list", "without [0]"),
        (
            "eval_input_reader.shuffle",
            "true",
            "eval_input_reader",
            "a list",
            "eval_input_reader[0]",
        ),
        (
            "eval_input_reader[2].shuffle",
            "true",
            "eval_input_reader[2]",
            "a list of 1",
            "from 0 to 1",
        ),
        (
            "eval_input_reader[-1].shuffle",
            "true",
            "eval_input_reader[-1]",
            "not an index",
            "from 0 to 1",
        ),
        ("eval_input_reader[x]", "{ }", None, "`x` is not an index", "1 appends"),
        (
            "eval_input_reader",
            [InputReader(), TFRecordInputReader()],
            "eval_input_reader[1]",
            "",
            "",
        ),
        (
            "train_config.freeze_variables",
            [1],
            "train_config.freeze_variables[0]",
            "not a text",
            "",
        ),
        ("eval_config.super_categories", "x", None, "is where a block is expected", ""),
        ("eval_config.super_categories", {"a": 1}, None, "`1` is not a text", ""),
        (f"{XY_PAIRS}[x]", "{ }", None, "not a whole number", ""),
        (f"{XY_PAIRS}[]", "{ }", None, "the key is missing", "a whole number"),
        ("", 1, None, "is not a valid path", "a.b[0].c"),
        ("train_config.", 1, None, "is not a valid path", "a.b[0].c"),
        ("train_config..batch_size", 1, None, "is not a valid path", "a.b[0].c"),
        ("train_config batch_size", 1, None, "is not a valid path", "a.b[0].c"),
        ("eval_input_reader[0", 1, None, "is not a valid path", "a.b[0].c"),
    ],
)
def test_a_wrong_override_says_where_what_and_what_to_write(
    path: str, value: Any, place: str | None, message: str, fix: str
):
    problem = refused(path, value)
    assert problem.path == (path if place is None else place)
    assert message in problem.message
    assert fix in problem.fix


def test_all_wrong_overrides_are_reported_and_the_right_ones_applied():
    changed, problems = apply_overrides(
        config(),
        {"train_config.x": 1, "train_config.batch_size": 5, "model.ssd.num_classes": "three"},
    )
    assert [problem.path for problem in problems] == ["train_config.x", "model.ssd.num_classes"]
    assert changed == override("train_config.batch_size", 5)


def test_overrides_act_in_their_order():
    changed, problems = apply_overrides(
        config(),
        {
            "train_config.optimizer": "{ adam_optimizer { epsilon: 0.5 } }",
            "train_config.optimizer.adam_optimizer.epsilon": "0.25",
            "eval_input_reader[1].name": "second",
            "eval_input_reader[2].name": "third",
        },
    )
    assert problems == []
    assert changed.train_config.optimizer.adam_optimizer.epsilon == 0.25
    assert [reader.name for reader in changed.eval_input_reader] == ["", "second", "third"]


def test_the_config_that_is_overridden_stays_as_it_is():
    original = config()
    apply_overrides(original, {"train_config.batch_size": 5, "eval_input_reader[0].name": "a"})
    assert original == config()


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("a=1", "a", "1"),
        (" a.b = 1 ", "a.b", "1"),
        ("a=b=c", "a", "b=c"),
        ("a=", "a", ""),
        ('a={ b: "x=y" }', "a", '{ b: "x=y" }'),
    ],
)
def test_an_assignment_is_split_at_its_first_equals_sign(text: str, path: str, value: str):
    assert split_assignment(text) == (path, value)


@pytest.mark.parametrize("text", ["a", "", "=1", " =1"])
def test_an_assignment_without_path_or_equals_sign_is_refused(text: str):
    with pytest.raises(ValueError, match="not of the form path=value"):
        split_assignment(text)
