"""The checks of augmentations and sources say which promise a part breaks."""

from __future__ import annotations

import pytest
import tensorflow as tf
from PIL import Image

from holdfast.data.augment import AUGMENTATIONS
from holdfast.data.augment.augmentations import augmentation
from holdfast.testing import check_augmentation, check_source_format


@pytest.fixture(autouse=True)
def forgotten(monkeypatch) -> None:
    monkeypatch.setattr(AUGMENTATIONS, "_entries", dict(AUGMENTATIONS._entries))
    monkeypatch.setattr(AUGMENTATIONS, "_makers", dict(AUGMENTATIONS._makers))


@pytest.mark.parametrize("name", ["random_horizontal_flip", "random_adjust_brightness"])
def test_augmentations_of_the_house_pass(name: str):
    check_augmentation(name)


def moves_boxes(sample, seed):
    return sample._replace(boxes=sample.boxes + 0.5)


def drops_boxes_alone(sample, seed):
    return sample._replace(boxes=sample.boxes[1:])


def makes_floats(sample, seed):
    return sample._replace(image=tf.cast(sample.image, tf.float32))


def heeds_no_seed(sample, seed):
    noise = tf.cast(tf.random.uniform(tf.shape(sample.image), 0, 99, tf.int32), sample.image.dtype)
    return sample._replace(image=noise)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (moves_boxes, "boxes leave the image"),
        (drops_boxes_alone, "numbers of objects differ"),
        (makes_floats, "the image becomes float32"),
        (heeds_no_seed, "seed gives another image"),
    ],
)
def test_a_broken_promise_is_named(function, message: str):
    augmentation(function)
    with pytest.raises(AssertionError, match=message):
        check_augmentation(function.__name__)


def test_a_data_set_is_read_whole(tmp_path):
    Image.new("RGB", (40, 30)).save(tmp_path / "a.jpg")
    (tmp_path / "a.txt").write_text("0 0.5 0.5 0.2 0.2\n")
    check_source_format("yolo", str(tmp_path))
    with pytest.raises(AssertionError, match="is taken for yolo, not for kitti"):
        check_source_format("kitti", str(tmp_path))


def test_boxes_beyond_the_image_are_found(tmp_path):
    Image.new("RGB", (40, 30)).save(tmp_path / "a.jpg")
    (tmp_path / "a.txt").write_text("0 0.9 0.5 0.4 0.2\n")
    with pytest.raises(AssertionError, match="boxes leave the image"):
        check_source_format("yolo", str(tmp_path))
