"""The training input of a config: what statistics decide about it."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.data.conversion.to_records import convert
from holdfast.data.input.build_input import build_training_input, open_reader
from holdfast.data.records.stream import aspect_bucket
from holdfast.data.sources.open_source import open_source
from holdfast.data.survey.statistics_cache import record_statistics
from holdfast.errors import ConfigError, HoldfastError

from .. import example_records

NUM_RECORDS = 12
FIXED = "fixed_shape_resizer { height: 48 width: 64 }"
KEEP = "keep_aspect_ratio_resizer { min_dimension: 32 max_dimension: 64 }"


def config(folder: Path, *, resizer=FIXED, batch_size=4, reader="", augmentation="", ssd=""):
    text = f"""
    model {{ ssd {{ num_classes: 8 image_resizer {{ {resizer} }} {ssd} }} }}
    train_config {{ batch_size: {batch_size} {augmentation} }}
    train_input_reader {{
      label_map_path: "{folder}/label_map.pbtxt"
      tf_record_input_reader {{ input_path: "{folder}/train.record-*" }}
      {reader}
    }}
    """
    decoded = decode(text, TrainEvalPipelineConfig)
    assert decoded.problems == []
    return decoded.message


def training_input(folder: Path, **changes):
    own = ("seed", "budget_bytes", "truth_fields")
    keywords = {name: changes.pop(name) for name in own if name in changes}
    made = config(folder, **changes)
    records = open_reader(made.train_input_reader, folder)
    statistics = record_statistics(records.files, records.layout, records.names)
    return build_training_input(made, records, statistics, **keywords)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    source = open_source(f"{NUM_RECORDS}@96", format_name="synthetic", seed=1)
    convert(source, str(folder), val=0.0, seed=0, num_shards=3)
    return folder


def numbered(
    name: str, height: int, width: int, num_boxes: int = 1, low: float = 0.1, label: int = 1
) -> bytes:
    """Make a record of a gray image with equal boxes."""
    image = tf.io.encode_jpeg(np.full((height, width, 3), 127, np.uint8)).numpy()

    def floats(value):
        return tf.train.Feature(float_list=tf.train.FloatList(value=[value] * num_boxes))

    def strings(*values):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))

    def integers(*values):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    sides = {"ymin": low, "xmin": 0.1, "ymax": 0.9, "xmax": 0.9}
    features = {
        "image/encoded": strings(image),
        "image/source_id": strings(name.encode()),
        "image/height": integers(height),
        "image/width": integers(width),
        "image/object/class/label": integers(*[label] * num_boxes),
        **{f"image/object/bbox/{side}": floats(value) for side, value in sides.items()},
    }
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def write(folder: Path, *records: bytes, name: str = "train.record-0") -> Path:
    folder.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(folder / name)) as writer:
        for record in records:
            writer.write(record)
    (folder / "label_map.pbtxt").write_text('item { id: 1 name: "one" }')
    return folder


def ids(batches) -> list[str]:
    return [name.decode() for batch in batches for name in batch.source_ids]


def test_the_bound_of_boxes_is_that_of_the_fullest_image(tmp_path):
    folder = write(tmp_path / "a", numbered("few", 32, 32), numbered("many", 32, 32, 7))
    batch = next(training_input(folder, batch_size=2).batches().as_numpy_iterator())
    assert batch.truth.boxes.shape == (2, 7, 4)
    assert sorted(batch.truth.weights.sum(axis=1)) == [1, 7]


def test_an_augmentation_that_copies_objects_has_room_for_the_copies(tmp_path):
    folder = write(tmp_path / "a", numbered("one", 32, 32, 3))
    twice = (
        "data_augmentation_options { random_self_concat_image { concat_vertical_probability: 1 "
        "concat_horizontal_probability: 1 } }"
    )
    made = training_input(folder, batch_size=1, augmentation=twice)
    batch = next(made.batches().as_numpy_iterator())
    assert batch.truth.weights.sum() == 12


def test_records_and_boxes_that_cannot_be_used_are_left_out(tmp_path):
    broken = numbered("broken", 32, 32).replace(b"\xff\xd8\xff", b"\x00\x00\x00")
    folder = write(
        tmp_path / "a",
        numbered("good", 32, 32),
        broken,
        numbered("swapped", 32, 32, low=0.95),
        numbered("good too", 32, 32),
    )
    made = training_input(folder, batch_size=3)
    epochs = list(made.batches().take(4).as_numpy_iterator())
    assert Counter(ids(epochs)) == {"good": 4, "swapped": 4, "good too": 4}
    weights = {
        name.decode(): float(weight.sum())
        for name, weight in zip(epochs[0].source_ids, epochs[0].truth.weights, strict=True)
    }
    assert weights == {"good": 1, "swapped": 0, "good too": 1}


def test_a_class_that_the_label_map_does_not_have_stays_left_out(tmp_path):
    gap = numbered("gap", 32, 32, 3, label=2)
    folder = write(tmp_path / "a", numbered("good", 32, 32), gap)
    (folder / "label_map.pbtxt").write_text('item { id: 1 name: "a" } item { id: 3 name: "c" }')
    batch = next(training_input(folder, batch_size=2).batches().as_numpy_iterator())
    assert batch.truth.boxes.shape == (2, 1, 4)
    assert batch.truth.weights.sum() == 1


def test_plain_and_compressed_files_mix(tmp_path):
    folder = write(tmp_path / "a", numbered("plain", 32, 32))
    write(folder, numbered("packed", 32, 32), name="train.record-1")
    packed = folder / "train.record-1"
    packed.write_bytes(gzip.compress(packed.read_bytes()))
    batches = training_input(folder, batch_size=2).batches().take(2).as_numpy_iterator()
    assert Counter(ids(batches)) == {"plain": 2, "packed": 2}


def test_images_of_like_aspect_ratio_share_a_batch(tmp_path):
    shapes = {"upright": (64, 32), "lying": (32, 64), "square": (48, 48)}
    names = [f"{shape} {number}" for number in range(8) for shape in shapes]
    records = [numbered(name, *shapes[name.split()[0]]) for name in names]
    folder = write(tmp_path / "a", *records)
    made = training_input(folder, batch_size=4, resizer=KEEP)
    epoch = list(made.batches().take(6).as_numpy_iterator())
    assert sorted(ids(epoch)) == sorted(names)
    for batch in epoch:
        assert len({name.decode().split()[0] for name in batch.source_ids}) == 1
        assert batch.images.shape[1:3] in {(64, 32), (32, 64), (32, 32)}


def test_what_is_left_over_in_the_buckets_is_trained_on_too(tmp_path):
    shapes = [(64, 32)] * 3 + [(32, 64)] * 5
    records = [numbered(str(number), *shape) for number, shape in enumerate(shapes)]
    folder = write(tmp_path / "a", *records)
    made = training_input(folder, batch_size=4, resizer=KEEP)
    seen = ids(made.batches().take(2).as_numpy_iterator())
    assert sorted(seen) == [str(number) for number in range(8)]


@pytest.mark.parametrize("start", [1, 2, 5])
def test_a_bucketed_input_resumes_where_it_was(tmp_path, start):
    shapes = [(64, 32)] * 4 + [(32, 64)] * 7
    records = [numbered(str(number), *shape) for number, shape in enumerate(shapes)]
    folder = write(tmp_path / "a", *records)
    made = training_input(folder, batch_size=3, resizer=KEEP, seed=5)
    whole = ids(made.batches().take(8).as_numpy_iterator())
    assert ids(made.batches(start).take(8 - start).as_numpy_iterator()) == whole[3 * start :]


def test_buckets_are_told_by_the_declared_size():
    sizes = {(10, 40): 4, (20, 30): 3, (30, 30): 2, (30, 20): 1, (40, 10): 0}
    assert {size: int(aspect_bucket(numbered("", *size))) for size in sizes} == sizes


def test_the_order_of_the_files_is_kept_without_shuffling(records):
    made = training_input(records, reader="shuffle: false", batch_size=4)
    epoch = ids(made.batches().take(3).as_numpy_iterator())
    assert ids(made.batches(3).take(3).as_numpy_iterator()) == epoch


CONFIDENT = "use_confidences_as_targets: true"
BOXES = ((0.0, 0.0, 0.4, 0.4), (0.5, 0.5, 0.9, 0.9))


def with_confidences(folder: Path, *confidences: float) -> Path:
    """Write one image whose two boxes have these confidences, if any."""
    name = "image__object__class__confidence"
    return write(folder, example_records.record(BOXES, **{name: confidences}))


def test_confidences_that_are_targets_come_with_the_batch(tmp_path):
    for number, confidences in enumerate([(0.25, 1.0), (-1.0, 0.5)]):
        folder = with_confidences(tmp_path / str(number), *confidences)
        made = training_input(folder, batch_size=1, ssd=CONFIDENT)
        batch = next(made.batches().as_numpy_iterator())
        np.testing.assert_array_equal(batch.truth.confidences, [confidences])


def test_boxes_without_confidences_are_certain(tmp_path):
    folder = with_confidences(tmp_path / "a")
    made = training_input(folder, batch_size=1, ssd=CONFIDENT)
    batch = next(made.batches().as_numpy_iterator())
    np.testing.assert_array_equal(batch.truth.confidences, [[1.0, 1.0]])


def test_confidences_follow_their_boxes_through_augmentations(tmp_path):
    folder = with_confidences(tmp_path / "a", 0.25, 0.75)
    augmentation = """
      data_augmentation_options { random_horizontal_flip { } }
      data_augmentation_options { random_crop_image { min_area: 0.4 max_area: 0.6
        min_object_covered: 0.0 overlap_thresh: 0.9 } }"""
    made = training_input(folder, batch_size=1, ssd=CONFIDENT, augmentation=augmentation)
    seen = set()
    for batch in made.batches().take(30).as_numpy_iterator():
        for box, confidence in zip(batch.truth.boxes[0], batch.truth.confidences[0], strict=True):
            if box.any():  # whole: the first box lies higher and is less certain
                seen.add(float(confidence))
    assert seen == {0.25, 0.75}


def test_what_no_setting_asks_for_is_not_read(tmp_path):
    folder = with_confidences(tmp_path / "a", 0.25, 0.75)
    batch = next(training_input(folder, batch_size=1).batches().as_numpy_iterator())
    assert batch.truth.confidences is None


@pytest.mark.parametrize("field", ["confidences", "is_crowd", "group_of", "difficult"])
def test_a_field_that_the_detector_states_is_delivered(tmp_path, field):
    folder = with_confidences(tmp_path / "a", 0.25, 0.75)
    made = training_input(folder, batch_size=1, truth_fields=frozenset({field}))
    batch = next(made.batches().as_numpy_iterator())
    assert getattr(batch.truth, field).shape == (1, 2)


def random_masks(count: int) -> np.ndarray:
    return np.random.default_rng(count).integers(0, 2, (count, 20 + count, 33 - count), np.uint8)


def with_masks(folder: Path, counts: list[int]) -> Path:
    """Write an image for each count, with that many masks."""
    return write(
        folder,
        *(
            example_records.record(
                [(0.1, 0.1, 0.9, 0.9)] * count,
                image=example_records.png(33 - count, 20 + count, seed=count),
                source_id=str(count),
                image__height=[20 + count],
                image__width=[33 - count],
                image__object__mask=[
                    tf.io.encode_png(mask[:, :, None]).numpy() for mask in random_masks(count)
                ],
            )
            for count in counts
        ),
    )


def test_masks_and_keypoints_are_delivered_where_they_are_stated(tmp_path):
    mask = tf.io.encode_png(np.ones((10, 20, 1), np.uint8)).numpy()
    points = [0.1, 0.2, 0.3, 0.4]
    features = {
        "image__height": [10],
        "image__width": [20],
        "image__object__mask": [mask, mask],
        "image__object__keypoint__x": points,
        "image__object__keypoint__y": points,
    }
    folder = write(tmp_path / "a", example_records.record(BOXES, **features))
    reader = "load_instance_masks: true mask_type: PNG_MASKS num_keypoints: 2"
    stated = frozenset({"masks", "keypoints", "visibilities"})
    made = training_input(folder, batch_size=1, reader=reader, truth_fields=stated)
    truth = next(made.batches().as_numpy_iterator()).truth
    assert truth.masks is None
    assert truth.mask_bits.shape == (1, 2, 48, 8)
    assert (truth.mask_bits == 255).all()
    assert truth.keypoints.shape == (1, 2, 2, 2)
    assert truth.visibilities.all()
    plain = next(training_input(folder, batch_size=1, reader=reader).batches().as_numpy_iterator())
    assert plain.truth.mask_bits is None
    assert plain.truth.keypoints is None


def test_a_mask_takes_its_share_of_the_budget(tmp_path):
    folder = with_masks(tmp_path / "a", [2, 5])
    reader = "load_instance_masks: true mask_type: PNG_MASKS"
    known = {"reader": reader, "batch_size": 1, "budget_bytes": 200_000}
    stated = training_input(folder, truth_fields=frozenset({"masks"}), **known)
    plain = training_input(folder, **known)
    assert stated.parallel_calls <= plain.parallel_calls
    assert stated.stream.shuffle_records < plain.stream.shuffle_records


@pytest.mark.parametrize("resizer", [FIXED, KEEP])
def test_mask_bits_are_the_masks_resized_by_nearest_neighbor_and_padded_like_the_image(
    tmp_path, resizer
):
    folder = with_masks(tmp_path / "a", [2, 5])
    reader = "load_instance_masks: true mask_type: PNG_MASKS shuffle: false"
    stated = {"reader": reader, "truth_fields": frozenset({"masks"}), "resizer": resizer}
    batch = next(training_input(folder, batch_size=2, **stated).batches().as_numpy_iterator())
    height, width = batch.images.shape[1:3]
    assert batch.truth.mask_bits.shape == (2, 5, height, -(-width // 8))
    for row, count in enumerate(map(int, batch.source_ids)):
        stored = random_masks(count)
        high, wide = batch.sizes[row, :2]
        rows, columns = (
            np.floor(np.arange(side, dtype=np.float32) * np.float32(true / side)).astype(int)
            for side, true in zip((high, wide), stored.shape[1:], strict=True)
        )
        expected = np.zeros((5, height, width), np.uint8)
        expected[:count, :high, :wide] = stored[:, rows][:, :, columns]
        np.testing.assert_array_equal(batch.truth.mask_bits[row], np.packbits(expected, axis=-1))


def test_keypoints_are_padded_with_nan_and_invisible(tmp_path):
    few, many = (
        example_records.record(
            BOXES[:count],
            source_id=str(count),
            image__object__keypoint__x=[0.5, 0.25] * count,
            image__object__keypoint__y=[0.5, 0.25] * count,
            image__object__keypoint__visibility=[2, 0] * count,
        )
        for count in (1, 2)
    )
    folder = write(tmp_path / "a", few, many)
    stated = frozenset({"keypoints", "visibilities"})
    made = training_input(
        folder, batch_size=2, reader="num_keypoints: 2 shuffle: false", truth_fields=stated
    )
    truth = next(made.batches().as_numpy_iterator()).truth
    labeled = ~np.isnan(truth.keypoints).any(axis=-1)
    assert labeled.tolist() == [[[True, False], [False, False]], [[True, False], [True, False]]]
    np.testing.assert_array_equal(truth.visibilities, labeled)
    assert (truth.keypoints[labeled] == 0.5).all()


@pytest.mark.parametrize(
    ("field", "setting"), [("masks", "load_instance_masks"), ("keypoints", "num_keypoints")]
)
def test_a_stated_field_that_the_reader_does_not_load_is_an_error(tmp_path, field, setting):
    folder = with_confidences(tmp_path / "a")
    with pytest.raises(HoldfastError, match=f"learns {field}") as error:
        training_input(folder, batch_size=1, truth_fields=frozenset({field}))
    assert setting in error.value.fix


def test_a_field_that_the_ground_truth_does_not_have_is_an_error(tmp_path):
    folder = with_confidences(tmp_path / "a")
    with pytest.raises(HoldfastError, match="no field colors") as error:
        training_input(folder, batch_size=1, truth_fields=frozenset({"colors"}))
    assert "confidences" in error.value.fix


def test_a_set_shuffle_buffer_is_obeyed_and_an_unset_one_is_bounded_by_bytes(records):
    assert training_input(records).stream.shuffle_records == NUM_RECORDS
    few = training_input(records, reader="shuffle_buffer_size: 5")
    assert few.stream.shuffle_records == 5
    assert training_input(records, budget_bytes=1).stream.shuffle_records == 1


def test_a_batch_larger_than_the_data_is_an_error(records):
    with pytest.raises(HoldfastError, match="12 usable images, and a batch needs 40"):
        training_input(records, batch_size=40)


def test_a_setting_that_is_not_supported_is_an_error(records):
    with pytest.raises(ConfigError, match="num_additional_channels: Holdfast does not support"):
        training_input(records, reader="num_additional_channels: 1")


def test_memory_stays_within_the_budget(tmp_path):
    """A fresh process reads shuffled large images; the benchmark does it with larger ones."""
    benchmark = Path(__file__).parents[3] / "benchmarks" / "input_memory.py"
    run = subprocess.run(
        [sys.executable, str(benchmark), "--large-only", "--width", "2000", "--images", "24"],
        capture_output=True,
        text=True,
        check=True,
    )
    (ratio,) = re.findall(r"of what is allowed: ([\d.]+)", run.stdout)
    assert float(ratio) <= 1.0


@pytest.mark.parametrize(
    ("reader", "fix"),
    [
        ("load_instance_masks: true", "mask_type: PNG_MASKS"),
        ("num_keypoints: 3", "num_keypoints: 2"),
    ],
)
def test_a_reader_that_could_read_no_record_is_an_error_with_the_right_value(tmp_path, reader, fix):
    mask = tf.io.encode_png(np.ones((10, 20, 1), np.uint8)).numpy()
    features = {
        "image__object__mask": [mask, mask],
        "image__object__keypoint__x": [0.1] * 4,
        "image__object__keypoint__y": [0.1] * 4,
    }
    folder = write(tmp_path / "a", example_records.record(BOXES, **features))
    with pytest.raises(HoldfastError, match="train_input_reader") as error:
        training_input(folder, batch_size=1, reader=reader)
    assert fix in error.value.fix
