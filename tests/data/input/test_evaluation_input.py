"""The evaluation input: every usable image once, in order, as it is labeled."""

from __future__ import annotations

import gzip
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.config.text.decode import decode
from holdfast.data.input import resize
from holdfast.data.input.evaluation_input import EvaluationInput, evaluation_input
from holdfast.data.sources.record_masks import MaskFormat
from holdfast.data.sources.tfrecord import RecordLayout
from holdfast.data.survey.inspection import records_of
from holdfast.data.survey.statistics_cache import record_statistics
from holdfast.errors import HoldfastError

from ..example_records import GOOD_BOX, pixels_of, png, record, write

FIXED = partial(resize.fixed_shape, height=24, width=32)
KEEP = partial(resize.keep_aspect_ratio, min_dimension=16, max_dimension=32)
LABEL_MAP = decode("item { id: 1 name: 'a' } item { id: 3 name: 'b' }", StringIntLabelMap).message
SIDE = 32


def numbered(number: int, **keywords) -> bytes:
    image = png(20, 10, seed=number)
    return record(source_id=f"{number}", image=image, **keywords)


def made_input(files: list[str], *, resizer=FIXED, layout=None, **keywords) -> EvaluationInput:
    records = records_of(files, LABEL_MAP, layout)
    statistics = record_statistics(records.files, records.layout, records.names)
    settings = {"batch_size": 4, "num_classes": 3, "height": SIDE, "width": SIDE}
    has_fixed_shape = resizer is FIXED
    return evaluation_input(
        records,
        statistics,
        resize=resizer,
        has_fixed_shape=has_fixed_shape,
        **(settings | keywords),
    )


def batches_of(made: EvaluationInput) -> list:
    return list(made.batches().as_numpy_iterator())


def ids(batches: list) -> list[str]:
    return [
        name.decode()
        for batch in batches
        for name, is_real in zip(batch.source_ids, batch.is_real, strict=True)
        if is_real
    ]


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("records")
    return write(folder / "a.record", [numbered(number) for number in range(10)])


def test_every_image_comes_once_in_order_on_every_pass(file):
    made = made_input([file])
    assert made.num_images == 10
    for _ in range(2):
        assert ids(batches_of(made)) == [str(number) for number in range(10)]


def test_the_last_batch_is_filled_with_images_that_are_not_real(file):
    batches = batches_of(made_input([file]))
    assert [batch.is_real.tolist() for batch in batches] == [
        [True] * 4,
        [True] * 4,
        [True, True, False, False],
    ]
    assert {batch.images.shape for batch in batches} == {(4, 24, 32, 3)}


def test_every_shape_is_static(file):
    specs = tf.nest.flatten(made_input([file]).batches().element_spec)
    tensors = [spec for spec in specs if isinstance(spec, tf.TensorSpec)]
    assert len(tensors) == 14
    assert all(spec.shape.is_fully_defined() for spec in tensors)


@pytest.mark.parametrize(("count", "expected"), [(3, "0369"), (10, "0"), (7, "07")])
def test_one_of_n_images_is_taken(file, count, expected):
    made = made_input([file], sample_1_of_n=count)
    assert ids(batches_of(made)) == list(expected)
    assert made.num_images == len(expected)


def test_every_image_of_many_files_comes_once(tmp_path):
    files = [
        write(tmp_path / f"{n}.record", [numbered(100 * n + each) for each in range(n + 1)])
        for n in range(12)
    ]
    packed = Path(files[3])
    packed.write_bytes(gzip.compress(packed.read_bytes()))
    made = made_input(files)
    first = ids(batches_of(made))
    assert sorted(first, key=int) == [
        str(100 * n + each) for n in range(12) for each in range(n + 1)
    ]
    assert ids(batches_of(made)) == first


def test_images_are_resized_and_their_stored_size_is_kept(file):
    batch = batches_of(made_input([file]))[0]
    expected = resize.fixed_shape(pixels_of(png(20, 10, seed=2)), height=24, width=32).image
    np.testing.assert_array_equal(batch.images[2], expected)
    assert batch.sizes.tolist() == [[24, 32, 3]] * 4
    assert batch.original_sizes.tolist() == [[10, 20]] * 4


def test_images_of_unequal_shape_come_one_by_one(tmp_path):
    shapes = [(20, 10), (10, 20), (20, 20)]
    images = [png(width, height) for width, height in shapes]
    records = [record(source_id=str(n), image=image) for n, image in enumerate(images)]
    made = made_input([write(tmp_path / "a.record", records)], resizer=KEEP)
    batches = batches_of(made)
    assert [batch.images.shape for batch in batches] == [
        (1, 16, 32, 3),
        (1, 32, 16, 3),
        (1, 16, 16, 3),
    ]
    assert ids(batches) == ["0", "1", "2"]
    for batch in batches:
        np.testing.assert_allclose(batch.truth.boxes[0, 0], GOOD_BOX)


def test_objects_carry_what_the_record_says_about_them(tmp_path):
    full = record(
        [GOOD_BOX, (0.0, 0.0, 1.0, 1.0)],
        labels=[3, 1],
        image__object__is_crowd=[1, 0],
        image__object__group_of=[0, 1],
        image__object__difficult=[1, 1],
        image__object__area=[7.0, 8.0],
        image__object__weight=[0.0, 0.5],
    )
    file = write(tmp_path / "a.record", [full, record(source_id="two")])
    truth = batches_of(made_input([file], batch_size=2))[0].truth
    assert truth.counts.tolist() == [2, 1]
    assert truth.classes.tolist() == [[2, 0], [0, 0]]
    assert truth.is_crowd.tolist() == [[True, False], [False, False]]
    assert truth.group_of.tolist() == [[False, True], [False, False]]
    assert truth.difficult.tolist() == [[True, True], [False, False]]
    assert truth.areas.tolist() == [[7.0, 8.0], [0.0, 0.0]]
    assert truth.weights.tolist() == [[0.0, 0.5], [1.0, 0.0]]
    np.testing.assert_allclose(truth.boxes[0], [GOOD_BOX, (0, 0, 1, 1)])
    assert truth.boxes[1, 1].tolist() == [0, 0, 0, 0]


def test_records_and_objects_that_cannot_be_used_are_left_out(tmp_path):
    file = write(
        tmp_path / "a.record",
        [
            record(source_id="no image", image=b""),
            record([GOOD_BOX, (0.5, 0.5, 0.1, 0.9)], source_id="swapped"),
            record([GOOD_BOX, GOOD_BOX], labels=[2, 3], source_id="id 2 is free"),
        ],
    )
    made = made_input([file], batch_size=1)
    batches = batches_of(made)
    assert ids(batches) == ["swapped", "id 2 is free"]
    assert [batch.truth.counts.tolist() for batch in batches] == [[1], [1]]
    assert batches[1].truth.classes.tolist() == [[2]]


def test_images_without_objects_are_evaluated_too(tmp_path):
    file = write(tmp_path / "a.record", [record([], source_id="empty")])
    (batch,) = batches_of(made_input([file], batch_size=1))
    assert batch.truth.counts.tolist() == [0]
    assert batch.truth.boxes.shape == (1, 1, 4)


def test_data_without_a_usable_image_is_an_error(tmp_path):
    file = write(tmp_path / "a.record", [record(image=b"no picture")])
    with pytest.raises(HoldfastError, match="no usable image"):
        made_input([file])


def test_a_record_that_cannot_be_used_stops_the_run_if_it_was_not_left_out(tmp_path):
    good, bad = numbered(1), record([GOOD_BOX], labels=[1, 1])
    file = write(tmp_path / "a.record", [good, bad, record(labels=[7])])
    made = made_input([file], batch_size=1)
    unaware = replace(made, stream=replace(made.stream, left_out=frozenset()))
    with pytest.raises(tf.errors.InvalidArgumentError, match="a record cannot be used"):
        batches_of(unaware)


def test_a_small_budget_means_one_call_at_a_time(file):
    assert made_input([file], budget_bytes=1).parallel_calls == 1
    assert made_input([file], budget_bytes=1).prefetch_batches == 1


@pytest.mark.parametrize("kind", list(MaskFormat))
def test_masks_come_as_stored_and_as_bits_of_the_resized_image(tmp_path, kind):
    masks = np.random.default_rng(0).integers(0, 2, (2, 10, 20), np.uint8)
    stored = (
        [tf.io.encode_png(mask[:, :, None]).numpy() for mask in masks]
        if kind is MaskFormat.PNG
        else masks.astype(float).ravel().tolist()
    )
    sides = {"image__height": [10], "image__width": [20]}
    files = [
        write(
            tmp_path / "a.record",
            [
                numbered(1, boxes=[GOOD_BOX] * 2, image__object__mask=stored, **sides),
                numbered(2, boxes=[GOOD_BOX] * 3, **sides),
            ],
        )
    ]
    made = made_input(
        files, layout=RecordLayout(masks=kind), batch_size=2, truth_fields=frozenset({"masks"})
    )
    (batch,) = batches_of(made)
    decoded = [tf.io.decode_png(each).numpy()[:, :, 0] for each in batch.truth.encoded_masks[0, :2]]
    np.testing.assert_array_equal(decoded, masks)
    assert (batch.truth.encoded_masks[0, 2:] == b"").all()
    assert (batch.truth.encoded_masks[1] == b"").all()
    rows, columns = np.arange(24) * 10 // 24, np.arange(32) * 20 // 32
    resized = np.packbits(masks[:, rows][:, :, columns], axis=-1)
    np.testing.assert_array_equal(batch.truth.mask_bits[0, :2], resized)
    assert not batch.truth.mask_bits[0, 2:].any()
    assert not batch.truth.mask_bits[1].any()


def test_keypoints_come_in_the_frame_of_their_image(tmp_path):
    points = {
        "image__object__keypoint__x": [0.25, 0.5],
        "image__object__keypoint__y": [0.75, 0.5],
        "image__object__keypoint__visibility": [1, 0],
    }
    files = [write(tmp_path / "a.record", [numbered(1, **points), numbered(2, boxes=[])])]
    layout = RecordLayout(num_keypoints=2)
    made = made_input(files, layout=layout, batch_size=2, truth_fields=frozenset({"keypoints"}))
    (batch,) = batches_of(made)
    assert batch.truth.keypoints[0, 0, 0].tolist() == [0.75, 0.25]
    assert np.isnan(batch.truth.keypoints[0, 0, 1]).all()
    assert batch.truth.visibilities[0, 0].tolist() == [True, False]
    assert np.isnan(batch.truth.keypoints[1]).all()


def test_what_is_not_asked_for_or_not_loaded_is_not_read(tmp_path):
    files = [write(tmp_path / "a.record", [numbered(1)])]
    asked = batches_of(made_input(files, truth_fields=frozenset({"masks", "keypoints"})))
    loaded = batches_of(made_input(files, layout=RecordLayout(masks=MaskFormat.PNG)))
    for (batch,) in (asked, loaded):
        assert batch.truth.mask_bits is None
        assert batch.truth.encoded_masks is None
        assert batch.truth.keypoints is None
