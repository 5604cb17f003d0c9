from holdfast.config.schema.eval import EvalConfig
from holdfast.config.schema.input_reader import InputReader, TFRecordInputReader
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.score_calibration import ClassIdFunctionApproximations, XYPair, XYPairs
from holdfast.config.schema.train import TrainConfig
from holdfast.config.schema.walk import walk

from ..texts import CONFIG, config


def test_an_empty_message_has_nothing_to_visit():
    assert list(walk(TrainEvalPipelineConfig())) == []


def test_fields_set_to_their_default_are_visited_and_unset_ones_are_not():
    visited = list(walk(TrainConfig(batch_size=32)))
    assert [(field.path, field.value) for field in visited] == [("batch_size", 32)]


def test_a_message_comes_before_its_fields_and_is_their_owner():
    reader = InputReader(tf_record_input_reader=TFRecordInputReader(input_path=("a",)))
    outer, inner = walk(reader)
    assert (outer.path, outer.owner) == ("tf_record_input_reader", reader)
    assert inner.path == "tf_record_input_reader.input_path[0]"
    assert inner.owner is reader.tf_record_input_reader
    assert inner.spec.name == "input_path"


def test_elements_of_lists_come_one_by_one_with_their_index():
    message = TrainEvalPipelineConfig(
        eval_input_reader=(InputReader(shuffle=False), InputReader(shuffle=True))
    )
    assert [(field.path, field.value) for field in walk(message) if "shuffle" in field.path] == [
        ("eval_input_reader[0].shuffle", False),
        ("eval_input_reader[1].shuffle", True),
    ]


def test_values_of_maps_come_one_by_one_with_their_key():
    names = EvalConfig(super_categories={"animal": "cat,dog", "bird": "owl"})
    assert [(field.path, field.value) for field in walk(names)] == [
        ("super_categories[animal]", "cat,dog"),
        ("super_categories[bird]", "owl"),
    ]
    pairs = XYPairs(x_y_pair=(XYPair(x=0.5),))
    blocks = ClassIdFunctionApproximations(class_id_xy_pairs_map={7: pairs})
    assert [field.path for field in walk(blocks)] == [
        "class_id_xy_pairs_map[7]",
        "class_id_xy_pairs_map[7].x_y_pair[0]",
        "class_id_xy_pairs_map[7].x_y_pair[0].x",
    ]


def test_the_start_of_the_paths_can_be_given():
    assert [field.path for field in walk(TrainConfig(batch_size=1), "train_config")] == [
        "train_config.batch_size"
    ]


def test_a_whole_config_is_visited_once_and_completely():
    paths = [field.path for field in walk(config())]
    assert len(paths) == len(set(paths))
    scalars = CONFIG.count(": ") + 2  # the list of three aspect ratios has one colon
    assert sum(not hasattr(field.value, "fields_set") for field in walk(config())) == scalars
