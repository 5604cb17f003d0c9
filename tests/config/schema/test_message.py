import dataclasses

import pytest

from holdfast.config.schema.eval import EvalConfig
from holdfast.config.schema.image_resizer import FixedShapeResizer, ImageResizer
from holdfast.config.schema.input_reader import TFRecordInputReader
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.ssd import Ssd
from holdfast.config.schema.train import TrainConfig


def test_unset_fields_read_as_default_none_or_empty():
    train = TrainConfig()
    assert train.batch_size == 32
    assert train.optimizer is None
    assert train.freeze_variables == ()
    assert EvalConfig().super_categories == {}


def test_a_field_set_to_its_default_is_set():
    assert TrainConfig(batch_size=32).has("batch_size")
    assert TrainConfig(sync_replicas=False).has("sync_replicas")
    assert not TrainConfig().has("batch_size")


def test_empty_lists_maps_and_none_count_as_unset():
    assert not TFRecordInputReader(input_path=()).has("input_path")
    assert not EvalConfig(super_categories={}).has("super_categories")
    assert not TrainConfig(optimizer=None).has("optimizer")
    assert DetectionModel(ssd=Ssd()).has("ssd")


def test_the_chosen_member_of_a_oneof_is_the_one_that_is_set():
    resizer = ImageResizer(fixed_shape_resizer=FixedShapeResizer(height=10))
    assert resizer.which("image_resizer_oneof") == "fixed_shape_resizer"
    assert resizer.chosen("image_resizer_oneof") == FixedShapeResizer(height=10)
    assert ImageResizer().which("image_resizer_oneof") is None
    assert ImageResizer().chosen("image_resizer_oneof") is None


def test_replacing_keeps_what_is_set_and_leaves_the_rest_unset():
    train = TrainConfig(batch_size=4, num_steps=9).replace(batch_size=5)
    assert (train.batch_size, train.num_steps) == (5, 9)
    assert train.fields_set == {"batch_size", "num_steps"}


def test_a_copy_without_a_field_reads_it_as_its_default():
    train = TrainConfig(batch_size=4, num_steps=9).without("batch_size", "optimizer")
    assert (train.batch_size, train.num_steps) == (32, 9)
    assert train.fields_set == {"num_steps"}


def test_the_original_never_changes():
    train = TrainConfig(batch_size=4)
    train.replace(batch_size=5)
    train.without("batch_size")
    assert train.batch_size == 4
    with pytest.raises(dataclasses.FrozenInstanceError):
        train.batch_size = 5  # type: ignore[misc]


def test_a_field_that_does_not_exist_cannot_be_set():
    with pytest.raises(TypeError, match="batch"):
        TrainConfig(batch=4)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="batch"):
        TrainConfig().replace(batch=4)
