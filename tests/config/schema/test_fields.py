from holdfast.config.schema.eval import EvalConfig
from holdfast.config.schema.fields import Kind, field_specs
from holdfast.config.schema.input_reader import InputReader, InstanceMaskType
from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.score_calibration import ClassIdFunctionApproximations, XYPairs
from holdfast.config.schema.ssd import Ssd
from holdfast.config.schema.train import TrainConfig

from ..protobuf_oracle import all_messages


def test_each_annotation_gives_the_kind_of_its_field():
    specs = field_specs(InputReader)
    kinds = {
        "shuffle": Kind.BOOL,
        "max_number_of_boxes": Kind.INT32,
        "num_epochs": Kind.UINT32,
        "keypoint_type_weight": Kind.FLOAT,
        "label_map_path": Kind.STRING,
        "mask_type": Kind.ENUM,
        "tf_record_input_reader": Kind.MESSAGE,
    }
    assert {name: specs[name].kind for name in kinds} == kinds
    assert specs["mask_type"].enum is InstanceMaskType


def test_lists_are_repeated_and_single_fields_are_not():
    specs = field_specs(TrainConfig)
    assert specs["data_augmentation_options"].repeated
    assert specs["data_augmentation_options"].kind == Kind.MESSAGE
    assert specs["freeze_variables"].repeated
    assert not specs["optimizer"].repeated


def test_a_map_has_a_key_and_a_value():
    entry = field_specs(ClassIdFunctionApproximations)["class_id_xy_pairs_map"].entry
    assert entry is not None
    assert entry.key.kind == Kind.INT32
    assert entry.value.message is XYPairs
    names = field_specs(EvalConfig)["super_categories"].entry
    assert names is not None
    assert (names.key.kind, names.value.kind) == (Kind.STRING, Kind.STRING)


def test_members_of_a_oneof_know_it_and_other_fields_have_none():
    assert field_specs(DetectionModel)["ssd"].oneof == "model"
    assert field_specs(Ssd)["num_classes"].oneof is None


def test_class_variables_are_no_fields():
    assert {"oneofs", "deprecated", "fields_set"}.isdisjoint(field_specs(DetectionModel))


def test_fields_come_in_the_order_of_their_declaration_and_are_looked_up_once():
    specs = field_specs(StringIntLabelMap)
    assert list(field_specs(TrainEvalPipelineConfig))[:2] == ["model", "train_config"]
    assert field_specs(StringIntLabelMap) is specs


def test_every_member_of_every_oneof_is_a_single_field_of_its_message():
    for message in all_messages(TrainEvalPipelineConfig, StringIntLabelMap):
        specs = field_specs(message)
        for oneof, members in message.oneofs.items():
            for member in members:
                assert specs[member].oneof == oneof, f"{message.__name__}.{member}"
                assert not specs[member].repeated


def test_every_deprecated_field_exists():
    for message in all_messages(TrainEvalPipelineConfig, StringIntLabelMap):
        assert set(message.deprecated) <= set(field_specs(message)), message.__name__


def test_every_default_is_of_the_kind_of_its_field():
    python_types = {
        Kind.BOOL: bool,
        Kind.INT32: int,
        Kind.UINT32: int,
        Kind.FLOAT: float,
        Kind.STRING: str,
    }
    for message in all_messages(TrainEvalPipelineConfig, StringIntLabelMap):
        empty = message()
        for name, spec in field_specs(message).items():
            value, place = getattr(empty, name), f"{message.__name__}.{name}"
            if spec.repeated:
                assert value == ({} if spec.entry else ()), place
            elif spec.kind == Kind.MESSAGE:
                assert value is None, place
            else:
                assert type(value) is (spec.enum or python_types[spec.kind]), place
