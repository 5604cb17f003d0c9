"""Batches from real record files, made on the spot by the synthetic source."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from holdfast.config.label_map import load_label_map
from holdfast.config.schema.image_resizer import ImageResizer
from holdfast.config.schema.input_reader import InputReader
from holdfast.config.schema.train import TrainConfig
from holdfast.config.text.decode import decode
from holdfast.data.conversion.to_records import convert
from holdfast.data.input.build_input import build_augmentations, build_layout, build_resizer
from holdfast.data.input.pipeline import Pipeline
from holdfast.data.records.stream import RecordStream
from holdfast.data.sources.open_source import open_source
from holdfast.data.sources.tfrecord import record_parser

NUM_RECORDS = 12
CROP_AND_FLIP = """
data_augmentation_options { random_horizontal_flip { } }
data_augmentation_options { ssd_random_crop { } }
"""


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    source = open_source(f"{NUM_RECORDS}@96", format_name="synthetic", seed=1)
    convert(source, str(folder), val=0.0, seed=0, num_shards=3)
    return folder


def pipeline(records, *, options="", resizer="", left_out=frozenset(), **changes) -> Pipeline:
    files = tuple(str(path) for path in sorted(records.glob("train.record-*")))
    train = decode(options, TrainConfig).message
    size = decode(resizer or "fixed_shape_resizer { height: 48 width: 64 }", ImageResizer).message
    stream = RecordStream(
        files=files,
        num_records=NUM_RECORDS - len(left_out),
        left_out=frozenset((files[0], number) for number in left_out),
        seed=changes.pop("seed", 0),
        shuffle_records=changes.pop("shuffle_records", NUM_RECORDS),
    )
    settings = {"batch_size": 4, "max_boxes": 30, "num_classes": 8} | changes
    label_map = load_label_map(records / "label_map.pbtxt")
    return Pipeline(
        stream=stream,
        parse=record_parser(build_layout(InputReader(), label_map)),
        resize=build_resizer(size),
        augmentations=build_augmentations(train.data_augmentation_options),
        **settings,
    )


def take(made: Pipeline, count: int, start: int = 0) -> list:
    return list(made.batches(start).take(count).as_numpy_iterator())


def assert_equal(left: list, right: list) -> None:
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        for a, b in zip(tf.nest.flatten(one), tf.nest.flatten(other), strict=True):
            np.testing.assert_array_equal(a, b)


def test_one_seed_gives_identical_batches(records):
    first = take(pipeline(records, options=CROP_AND_FLIP), 7)
    assert_equal(first, take(pipeline(records, options=CROP_AND_FLIP), 7))


def test_another_seed_gives_other_batches(records):
    first = take(pipeline(records, options=CROP_AND_FLIP), 1)[0]
    other = take(pipeline(records, options=CROP_AND_FLIP, seed=1), 1)[0]
    assert not np.array_equal(first.images, other.images)


@pytest.mark.parametrize("start", [1, 3, 5])
def test_a_resumed_run_sees_what_the_uninterrupted_one_would_have_seen(records, start):
    whole = take(pipeline(records, options=CROP_AND_FLIP, batch_size=5), 8)
    resumed = take(pipeline(records, options=CROP_AND_FLIP, batch_size=5), 8 - start, start)
    assert_equal(whole[start:], resumed)


def test_every_epoch_shows_each_image_once_in_another_order(records):
    batches = take(pipeline(records), 6)
    ids = np.concatenate([batch.source_ids for batch in batches]).reshape(2, NUM_RECORDS)
    assert len(set(ids[0])) == NUM_RECORDS
    assert set(ids[0]) == set(ids[1])
    assert list(ids[0]) != list(ids[1])


def test_without_shuffling_every_epoch_is_the_same(records):
    batches = take(pipeline(records, shuffle_records=1), 6)
    ids = np.concatenate([batch.source_ids for batch in batches]).reshape(2, NUM_RECORDS)
    assert list(ids[0]) == list(ids[1])


def test_records_left_out_never_come(records):
    everything = {name for batch in take(pipeline(records), 3) for name in batch.source_ids}
    made = pipeline(records, left_out={0, 2}, batch_size=2)
    seen = [name for batch in take(made, 5) for name in batch.source_ids]
    assert len(set(seen)) == NUM_RECORDS - 2
    assert set(seen) < everything


def test_ground_truth_is_padded_with_weight_zero(records):
    truth = take(pipeline(records), 1)[0].truth
    assert truth.boxes.shape == (4, 30, 4)
    real = truth.weights > 0
    assert 0 < real.sum() < real.size
    assert np.all(truth.boxes[~real] == 0)
    sizes = truth.boxes[real][:, 2:] - truth.boxes[real][:, :2]
    assert np.all(sizes > 0)


def test_more_boxes_than_the_bound_stop_the_run_instead_of_being_cut(records):
    with pytest.raises(tf.errors.InvalidArgumentError, match="more boxes than the bound of 1"):
        take(pipeline(records, max_boxes=1), 3)


def test_a_record_that_cannot_be_used_stops_the_run_instead_of_training_without_its_boxes(tmp_path):
    value = tf.train.Feature(float_list=tf.train.FloatList(value=[0.1]))
    features = {
        "image/encoded": tf.train.Feature(
            bytes_list=tf.train.BytesList(
                value=[tf.io.encode_png(np.zeros((4, 4, 3), "u1")).numpy()]
            )
        ),
        "image/object/bbox/xmin": value,  # and no other coordinate
    }
    example = tf.train.Example(features=tf.train.Features(feature=features))
    (tmp_path / "label_map.pbtxt").write_text("item { id: 1 name: 'a' }")
    with tf.io.TFRecordWriter(str(tmp_path / "train.record-00000-of-00001")) as writer:
        for _ in range(NUM_RECORDS):
            writer.write(example.SerializeToString())
    with pytest.raises(tf.errors.InvalidArgumentError, match="a record cannot be used"):
        take(pipeline(tmp_path), 1)


def test_boxes_are_relative_to_the_padded_input(records):
    padded = "keep_aspect_ratio_resizer { min_dimension: 48 max_dimension: 48 }"
    wide = "fixed_shape_resizer { height: 48 width: 48 }"
    square = take(pipeline(records, resizer=wide, shuffle_records=1), 1)[0]
    kept = take(pipeline(records, resizer=padded, shuffle_records=1), 1)[0]
    height, width = kept.images.shape[1:3]
    scale = kept.sizes[:, None, [0, 1, 0, 1]] / np.array([height, width, height, width])
    np.testing.assert_allclose(kept.truth.boxes, square.truth.boxes * scale, atol=1e-6)
