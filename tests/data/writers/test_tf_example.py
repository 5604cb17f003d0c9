from __future__ import annotations

import hashlib

import numpy as np
import pytest
import tensorflow as tf

from holdfast.data.sources.annotated_objects import Box, LabeledObject, build_sample
from holdfast.data.sources.classes import build_classes
from holdfast.data.sources.image_files import Picture, Size
from holdfast.data.sources.outlines import Bitmap
from holdfast.data.sources.synthetic import make_synthetic
from holdfast.data.sources.synthetic_shapes import SyntheticScene
from holdfast.data.writers.tf_example import encode_example
from holdfast.errors import HoldfastError

CLASSES = build_classes({1: "cat", 3: "dog"}, {1: ["nose", "tail"]}).label_map
# The features of the OD API's decoder, with its types and defaults.
TEXT = tf.io.FixedLenFeature((), tf.string, default_value="")
NUMBER = tf.io.FixedLenFeature((), tf.int64, default_value=1)
FEATURES = {
    "image/encoded": TEXT,
    "image/format": tf.io.FixedLenFeature((), tf.string, default_value="jpeg"),
    "image/filename": TEXT,
    "image/key/sha256": TEXT,
    "image/source_id": TEXT,
    "image/height": NUMBER,
    "image/width": NUMBER,
    **{
        f"image/object/{name}": tf.io.VarLenFeature(tf.float32)
        for name in (
            *(
                "bbox/ymin",
                "bbox/xmin",
                "bbox/ymax",
                "bbox/xmax",
                "area",
                "weight",
                "class/confidence",
            ),
            *("keypoint/x", "keypoint/y"),
        )
    },
    **{
        f"image/object/{name}": tf.io.VarLenFeature(tf.int64)
        for name in (
            *("class/label", "is_crowd", "difficult", "truncated", "group_of"),
            *("keypoint/visibility", "keypoint/num"),
        )
    },
    **{
        f"image/object/{name}": tf.io.VarLenFeature(tf.string)
        for name in ("class/text", "mask", "keypoint/text")
    },
}


def parse(record):
    parsed = tf.io.parse_single_example(record, FEATURES)
    dense = {
        name: tf.sparse.to_dense(value) if isinstance(value, tf.SparseTensor) else value
        for name, value in parsed.items()
    }
    return {name: value.numpy() for name, value in dense.items()}


@pytest.fixture
def picture(shared):
    encoded = (shared / "datasets/bccd/JPEGImages/BloodImage_00117.jpg").read_bytes()
    return Picture(encoded, Size(640, 480))


@pytest.fixture
def sample(picture):
    points = np.array([[24.0, 64.0], [np.nan, np.nan]])
    mask = Bitmap(np.ones((10, 20), np.uint8), left=30, top=40)
    objects = [
        LabeledObject(0, Box(24, 64, 240, 320), mask, area=7.5, keypoints=points),
        LabeledObject(2, Box(0, 0, 480, 640), difficult=True, truncated=True, is_crowd=True),
    ]
    return build_sample("117", picture, objects, masks=True, num_keypoints=2)


def test_image_features_describe_the_file_as_it_is(sample):
    found = parse(encode_example(sample, CLASSES, filename="a/b.jpg"))
    assert found["image/encoded"] == sample.image
    assert found["image/format"] == b"jpeg"
    assert (found["image/height"], found["image/width"]) == (480, 640)
    assert found["image/filename"] == b"a/b.jpg"
    assert found["image/source_id"] == b"117"
    assert found["image/key/sha256"].decode() == hashlib.sha256(sample.image).hexdigest()


def test_object_features_are_those_of_the_sample(sample):
    found = parse(encode_example(sample, CLASSES))
    names = ("ymin", "xmin", "ymax", "xmax")
    boxes = np.stack([found[f"image/object/bbox/{name}"] for name in names], axis=1)
    np.testing.assert_array_equal(boxes, sample.boxes)
    np.testing.assert_allclose(boxes, [[0.05, 0.1, 0.5, 0.5], [0, 0, 1, 1]], rtol=1e-6)
    assert found["image/object/class/label"].tolist() == [1, 3]
    assert found["image/object/class/text"].tolist() == [b"cat", b"dog"]
    assert found["image/object/difficult"].tolist() == [0, 1]
    assert found["image/object/truncated"].tolist() == [0, 1]
    assert found["image/object/is_crowd"].tolist() == [0, 1]
    assert found["image/object/group_of"].tolist() == [0, 0]
    assert found["image/object/area"].tolist() == [7.5, 480 * 640]


def test_weights_and_confidences_are_written_only_where_they_say_something(sample):
    found = parse(encode_example(sample, CLASSES))
    assert found["image/object/weight"].size == 0
    assert found["image/object/class/confidence"].size == 0
    half = np.array([1, 0.5], np.float32)
    found = parse(encode_example(sample._replace(weights=half, confidences=half), CLASSES))
    assert found["image/object/weight"].tolist() == [1, 0.5]
    assert found["image/object/class/confidence"].tolist() == [1, 0.5]


def test_masks_are_png_images_of_0_and_1(sample):
    found = parse(encode_example(sample, CLASSES))
    masks = [tf.io.decode_png(mask).numpy()[:, :, 0] for mask in found["image/object/mask"]]
    np.testing.assert_array_equal(masks, sample.masks)


def test_keypoints_are_coordinates_with_visibilities(sample):
    found = parse(encode_example(sample, CLASSES))
    np.testing.assert_allclose(found["image/object/keypoint/y"], [0.05, 0, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(found["image/object/keypoint/x"], [0.1, 0, 0, 0], rtol=1e-6)
    assert found["image/object/keypoint/visibility"].tolist() == [2, 0, 0, 0]
    assert found["image/object/keypoint/num"].tolist() == [1, 0]
    assert found["image/object/keypoint/text"].tolist() == [b"nose", b"tail"] * 2


def test_an_image_without_objects_is_written(picture):
    found = parse(encode_example(build_sample("1", picture, []), CLASSES))
    assert found["image/object/bbox/ymin"].shape == (0,)
    assert found["image/object/class/text"].shape == (0,)


def test_a_class_outside_the_label_map_is_refused(sample):
    other = sample._replace(classes=np.array([0, 1], np.int32))
    with pytest.raises(HoldfastError, match="Class id 2 is not in the label map"):
        encode_example(other, CLASSES)


def test_equal_samples_give_equal_bytes(sample):
    assert encode_example(sample, CLASSES) == encode_example(sample, CLASSES)


def test_synthetic_samples_come_back_as_they_were():
    source = make_synthetic(4, SyntheticScene(size=64))
    for before in source:
        found = parse(encode_example(before, source.label_map))
        y, x = found["image/object/keypoint/y"], found["image/object/keypoint/x"]
        points = np.stack([y, x], axis=-1).reshape(before.keypoints.shape)
        labeled = found["image/object/keypoint/visibility"].reshape(points.shape[:2]) > 0
        np.testing.assert_array_equal(
            np.where(labeled[:, :, None], points, np.nan), before.keypoints
        )
        np.testing.assert_array_equal(labeled, before.visibilities)
        masks = [tf.io.decode_png(mask).numpy()[:, :, 0] for mask in found["image/object/mask"]]
        np.testing.assert_array_equal(masks, before.masks)
