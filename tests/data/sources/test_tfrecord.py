"""Records are parsed inside the graph as the OD API's decoder does, whatever tool wrote them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from holdfast.data.sources.open_source import open_source
from holdfast.data.sources.record_masks import MaskFormat
from holdfast.data.sources.tfrecord import (
    UNKNOWN_ID,
    Parsed,
    RecordLayout,
    record_parser,
)
from holdfast.data.survey.box_validity import Reason
from holdfast.data.writers.tf_example import encode_example

from ..example_records import GOOD_BOX, png, record

TWO = [GOOD_BOX, (0.0, 0.0, 1.0, 0.5)]


def parse(serialized: bytes, **layout: Any) -> Parsed:
    """Parse inside a graph, as the pipeline does."""
    parser = tf.function(record_parser(RecordLayout(**layout)))
    return parser(tf.constant(serialized))


def test_every_list_of_the_decoder_is_read():
    features = {
        "image__object__weight": [0.5, 2.0],
        "image__object__class__confidence": [0.25, 0.75],
        "image__object__area": [10.0, 20.0],
        "image__object__difficult": [1, 0],
        "image__object__truncated": [0, 1],
        "image__object__group_of": [1, 1],
        "image__object__is_crowd": [0, 1],
        "image__object__class__multiclass_scores": [0.1, 0.2, 0.3, 0.4],
    }
    parsed = parse(record(TWO, labels=[3, 1], **features), num_multiclass_scores=2)
    sample = parsed.sample
    assert int(parsed.reason) == Reason.KEPT
    np.testing.assert_array_equal(sample.boxes, np.float32(TWO))
    assert sample.classes.numpy().tolist() == [2, 0]  # 0-based
    assert sample.weights.numpy().tolist() == [0.5, 2.0]
    assert sample.confidences.numpy().tolist() == [0.25, 0.75]
    assert sample.areas.numpy().tolist() == [10.0, 20.0]
    assert sample.difficult.numpy().tolist() == [True, False]
    assert sample.truncated.numpy().tolist() == [False, True]
    assert sample.group_of.numpy().tolist() == [True, True]
    assert sample.is_crowd.numpy().tolist() == [False, True]
    np.testing.assert_allclose(sample.multiclass_scores, [[0.1, 0.2], [0.3, 0.4]])


def test_absent_lists_have_their_defaults():
    sample = parse(record(TWO, image__height=[10], image__width=[20])).sample
    assert sample.weights.numpy().tolist() == sample.confidences.numpy().tolist() == [1.0, 1.0]
    flags = (sample.difficult, sample.truncated, sample.group_of, sample.is_crowd)
    assert not np.array(flags).any()
    np.testing.assert_allclose(sample.areas, [0.4 * 10 * 0.4 * 20, 10 * 0.5 * 20], rtol=1e-6)
    assert (sample.masks, sample.keypoints, sample.multiclass_scores) == (None, None, None)


def test_an_image_without_boxes_is_kept():
    parsed = parse(record([]), masks=MaskFormat.PNG, num_keypoints=3, num_multiclass_scores=2)
    assert int(parsed.reason) == Reason.KEPT
    assert parsed.sample.boxes.shape == (0, 4)
    assert parsed.sample.keypoints.shape == (0, 3, 2)
    assert parsed.sample.multiclass_scores.shape == (0, 2)


def test_the_file_name_stands_in_for_a_missing_id():
    named = parse(record(source_id="", image__filename=[b"a.jpg"]))
    assert named.sample.source_id.numpy() == b"a.jpg"
    assert parse(record(image__filename=[b"a.jpg"])).sample.source_id.numpy() == b"one.png"


def test_text_is_looked_up_and_an_unknown_one_is_marked():
    parsed = parse(record(TWO, labels=[], texts=["dog", "cow"]), class_ids={"cat": 1, "dog": 2})
    assert parsed.sample.classes.numpy().tolist() == [1, UNKNOWN_ID - 1]


def test_labels_count_where_a_label_map_is_given_but_no_text():
    parsed = parse(record(TWO, labels=[2, 7]), class_ids={"cat": 1, "dog": 2})
    assert parsed.sample.classes.numpy().tolist() == [1, 6]


def test_ids_that_are_not_known_are_marked_but_background_stays():
    parsed = parse(record([GOOD_BOX] * 4, labels=[1, 3, 0, -5]), known_ids=(1, 2))
    assert parsed.sample.classes.numpy().tolist() == [0, UNKNOWN_ID - 1, -1, -2]


@pytest.mark.parametrize("masks", MaskFormat)
def test_masks_of_both_kinds_are_read(masks):
    pixels = np.zeros((2, 10, 20), np.uint8)
    pixels[0, 2:5, 3:9] = 1
    pixels[1, :, 10:] = 1
    if masks is MaskFormat.PNG:
        stored: list[Any] = [_png_mask(each) for each in pixels]
    else:
        stored = pixels.astype(float).ravel().tolist()
    features = {"image__height": [10], "image__width": [20], "image__object__mask": stored}
    sample = parse(record(TWO, **features), masks=masks).sample
    np.testing.assert_array_equal(sample.masks, pixels)


def _png_mask(pixels: np.ndarray) -> bytes:
    return tf.io.encode_png(pixels[:, :, None] * 255).numpy()


def test_a_record_without_masks_has_empty_ones_of_its_size():
    features = {"image__height": [10], "image__width": [20]}
    sample = parse(record(TWO, **features), masks=MaskFormat.PNG).sample
    np.testing.assert_array_equal(sample.masks, np.zeros((2, 10, 20), np.uint8))


def test_keypoints_that_are_not_labeled_are_not_numbers():
    features = {
        "image__object__keypoint__x": [0.1, 0.2, 0.3, 0.4],
        "image__object__keypoint__y": [0.5, 0.6, 0.7, 0.8],
        "image__object__keypoint__visibility": [2, 0, 1, 2],
    }
    sample = parse(record(TWO, **features), num_keypoints=2).sample
    expected = np.float32([[[0.5, 0.1], [np.nan, np.nan]], [[0.7, 0.3], [0.8, 0.4]]])
    np.testing.assert_array_equal(sample.keypoints, expected)
    assert sample.visibilities.numpy().tolist() == [[True, False], [True, True]]


WRONG = {
    "masks": ({"image__object__mask": [png()]}, {"masks": MaskFormat.PNG}),
    "keypoints": ({"image__object__keypoint__x": [0.1]}, {"num_keypoints": 2}),
    "scores": (
        {"image__object__class__multiclass_scores": [0.1]},
        {"num_multiclass_scores": 2},
    ),
}


@pytest.mark.parametrize(("features", "layout"), WRONG.values(), ids=WRONG)
def test_lists_of_another_length_than_the_boxes_are_told(features, layout):
    parsed = parse(record(TWO, **features), **layout)
    assert (int(parsed.reason), int(parsed.boxes_written)) == (Reason.COUNTS_DIFFER, 2)
    assert parsed.sample.boxes.shape == (0, 4)


def test_what_the_writer_writes_is_read_back_with_masks_and_keypoints():
    source = open_source("3@48", format_name="synthetic")
    points = next(iter(source)).keypoints
    layout: dict[str, Any] = {"masks": MaskFormat.PNG}
    if points is not None:
        layout["num_keypoints"] = points.shape[1]
    for sample in source:
        back = parse(encode_example(sample, source.label_map), **layout).sample
        np.testing.assert_array_equal(back.boxes, sample.boxes)
        np.testing.assert_array_equal(back.classes, sample.classes)
        np.testing.assert_array_equal(back.masks, sample.masks)
        np.testing.assert_array_equal(back.areas, sample.areas)
        if points is not None:
            seen = sample.visibilities[..., None]
            np.testing.assert_array_equal(back.keypoints, np.where(seen, sample.keypoints, np.nan))
