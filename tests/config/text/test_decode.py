from __future__ import annotations

import pytest

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.config.text.tokens import Position


def problems(text: str) -> list:
    return decode(text, TrainEvalPipelineConfig).problems


def only(text: str):
    found = problems(text)
    assert len(found) == 1, found
    return found[0]


def test_unset_fields_read_as_their_defaults_and_say_that_they_were_not_set():
    train = decode("train_config { num_steps: 7 }", TrainEvalPipelineConfig).message.train_config
    assert (train.num_steps, train.batch_size, train.optimizer) == (7, 32, None)
    assert train.has("num_steps")
    assert not train.has("batch_size")


def test_repeated_fields_gather_from_all_places():
    text = "train_config { freeze_variables: ['a', 'b'] freeze_variables: 'c' }"
    train = decode(text, TrainEvalPipelineConfig).message.train_config
    assert train.freeze_variables == ("a", "b", "c")


def test_maps_are_read_by_key_and_the_last_entry_wins():
    text = """
    eval_config {
      super_categories { key: "animal" value: "cat,dog" }
      super_categories: { value: "car" key: "vehicle" }
      super_categories { key: "animal" value: "cow" }
      super_categories { }
    }
    """
    config = decode(text, TrainEvalPipelineConfig).message
    assert config.eval_config.super_categories == {"animal": "cow", "vehicle": "car", "": ""}


def test_every_value_has_its_position_under_its_path():
    text = 'eval_input_reader {\n  tf_record_input_reader { input_path: ["a",\n "b"] }\n}'
    positions = decode(text, TrainEvalPipelineConfig).positions
    prefix = "eval_input_reader[0].tf_record_input_reader"
    assert positions["eval_input_reader[0]"] == Position(1, 19)
    assert positions[f"{prefix}.input_path[1]"] == Position(3, 2)


@pytest.mark.parametrize(
    ("text", "path", "message", "fix"),
    [
        (
            "train_config { batchsize: 8 }",
            "train_config.batchsize",
            "`train_config` has no field `batchsize`",
            "write `batch_size`",
        ),
        (
            "train_input_reader { eval_config { } }",
            "train_input_reader.eval_config",
            "`train_input_reader` has no field `eval_config`",
            "it belongs to the top level: is a `}` missing before this line?",
        ),
        (
            "model { ssd { fixed_shape_resizer { } } }",
            "model.ssd.fixed_shape_resizer",
            "`ssd` has no field `fixed_shape_resizer`",
            "it belongs inside `image_resizer { }`",
        ),
        (
            "model { ssd { } faster_rcnn { } }",
            "model.faster_rcnn",
            "`ssd` is set already, and only one of them can be",
            "keep one of `ssd` and `faster_rcnn`",
        ),
        (
            "train_config { batch_size: 8 batch_size: 8 }",
            "train_config.batch_size",
            "it is set a second time",
            "keep one of them",
        ),
        (
            "train_config { } train_config { }",
            "train_config",
            "it is set a second time",
            "keep one of them",
        ),
        (
            'train_config { batch_size: "8" }',
            "train_config.batch_size",
            '"8" is a text',
            "write 8, without quotes",
        ),
        (
            "train_config { batch_size: 8.0 }",
            "train_config.batch_size",
            "`8.0` is not a whole number",
            "write 8",
        ),
        (
            "train_config { batch_size: -8 }",
            "train_config.batch_size",
            "`-8` is out of range: 0 to 4294967295",
            "write a whole number, not negative",
        ),
        (
            "train_config { use_bfloat16: TRUE }",
            "train_config.use_bfloat16",
            "`TRUE` is neither true nor false",
            "write true or false",
        ),
        (
            "train_config { fine_tune_checkpoint_version: v2 }",
            "train_config.fine_tune_checkpoint_version",
            "`v2` is not one of UNKNOWN, V1, V2",
            "write V2",
        ),
        (
            "train_config { fine_tune_checkpoint_type: detection }",
            "train_config.fine_tune_checkpoint_type",
            "detection is not in quotes",
            'write "detection"',
        ),
        (
            "train_config { batch_size 8 }",
            "train_config.batch_size",
            "the colon is missing",
            "write `batch_size: …`",
        ),
        (
            "train_config { batch_size: [8] }",
            "train_config.batch_size",
            "it takes one value, not a list",
            "remove the [ ]",
        ),
        (
            "train_config { batch_size: { } }",
            "train_config.batch_size",
            "a block is not allowed here",
            "write a whole number, not negative",
        ),
        (
            "train_config: 5",
            "train_config",
            "`5` is where a block is expected",
            "write `train_config { … }`",
        ),
    ],
)
def test_each_mistake_says_what_is_wrong_and_what_to_write(text, path, message, fix):
    problem = only(text)
    assert (problem.path, problem.message, problem.fix) == (path, message, fix)
    assert problem.line == 1


def test_a_second_augmentation_in_one_block_is_told_to_move_out():
    options = "random_horizontal_flip {}\nrandom_rotation90 {}"
    problem = only(f"train_config {{ data_augmentation_options {{\n{options} }} }}")
    assert problem.line == 3
    assert "block of its own" in problem.fix


def test_all_mistakes_are_collected_at_once():
    text = """
    model { ssd { num_classes: three  image_resize { } } }
    train_config { batchsize: 8
      num_steps: 1e4
    """
    assert sorted(problem.line for problem in problems(text)) == [2, 2, 3, 4, 4]
