"""The sheet shows images from all over the data, with what belongs to them."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from holdfast.data.survey.contact_sheet import _choose, draw_sheet
from holdfast.data.survey.inspection import inspect_data, open_data
from holdfast.errors import HoldfastError
from holdfast.pictures import label_colors

from ..example_records import GOOD_BOX, pixels_of, png, record, write


def has_color(sheet: np.ndarray, color: tuple[int, int, int]) -> bool:
    return bool((sheet == color).all(axis=-1).any())


def test_classes_of_text_only_have_colors_and_names_of_their_own(tmp_path):
    texts = ["cat", "dog"]
    file = write(tmp_path / "a.record", [record([GOOD_BOX] * 2, labels=[], texts=texts)])
    (shown,) = _choose(open_data(file), 4)
    assert [shown.names[number] for number in (shown.sample.classes + 1).tolist()] == texts
    sheet = draw_sheet(open_data(file), class_order=texts)
    assert all(has_color(sheet, color) for color in label_colors(texts).values())


def test_images_are_shown_as_stored_and_boxes_left_out_are_counted(tmp_path):
    image = png(40, 30)
    boxes = [GOOD_BOX, (0.5, 0.5, 0.5, 0.5)]
    file = write(tmp_path / "a.record", [record(boxes, image=image)])
    (shown,) = _choose(open_data(file), 4)
    np.testing.assert_array_equal(shown.sample.image, pixels_of(image))
    assert (len(shown.sample.boxes), shown.left_out) == (1, 1)


def test_masks_and_keypoints_are_found_without_being_asked_for(tmp_path):
    features = {
        "image__object__mask": [png(20, 10)],
        "image__height": [10],
        "image__width": [20],
        "image__object__keypoint__x": [0.5, 0.6],
        "image__object__keypoint__y": [0.5, 0.6],
        "image__object__keypoint__visibility": [2, 0],
    }
    file = write(tmp_path / "a.record", [record(**features)])
    (shown,) = _choose(open_data(file), 4)
    assert shown.sample.masks.shape == (1, 10, 20)
    np.testing.assert_allclose(shown.sample.keypoints[0, 0], [0.5, 0.5])
    assert np.isnan(shown.sample.keypoints[0, 1]).all()
    assert draw_sheet(open_data(file)).ndim == 3


def test_images_with_boxes_are_preferred(tmp_path):
    records = [
        record([GOOD_BOX] if number % 2 else [], image=png(seed=number), source_id=str(number))
        for number in range(24)
    ]
    sheet = draw_sheet(open_data(write(tmp_path / "a.record", records)), class_order=["1"])
    red = (sheet[:-40] == label_colors(["1"])["1"]).all(axis=-1)
    columns = red.any(axis=0)
    assert columns[: len(columns) // 4].any()
    assert columns[-len(columns) // 4 :].any()


def test_augmented_versions_follow_their_image(tmp_path):
    file = write(tmp_path / "a.record", [record()])

    def paint(sample, seed):
        return sample._replace(
            image=tf.zeros_like(sample.image) + tf.constant([0, 0, 200], tf.uint8)
        )

    plain = draw_sheet(open_data(file))
    sheet = draw_sheet(open_data(file), augmentations=[paint], versions=2)
    assert not has_color(plain, (0, 0, 200))
    assert has_color(sheet, (0, 0, 200))


@pytest.mark.parametrize(
    "change",
    [
        lambda image: tf.cast(image, tf.float32) / 255.0,
        lambda image: tf.cast(image, tf.float32) - 128.0,
        lambda image: tf.cast(image, tf.float32),
    ],
    ids=["0..1", "around 0", "0..255"],
)
def test_normalized_images_are_shown_in_full_brightness(tmp_path, change):
    file = write(tmp_path / "a.record", [record([])])

    def augment(sample, seed):
        return sample._replace(image=change(sample.image))

    sheet = draw_sheet(open_data(file), augmentations=[augment], versions=1)
    half = sheet.shape[1] // 2
    assert abs(float(sheet[:160, :half].mean()) - float(sheet[:160, half:].mean())) < 12


def test_without_any_image_there_is_nothing_to_draw(tmp_path):
    file = write(tmp_path / "a.record", [record(image=b"broken")])
    with pytest.raises(HoldfastError, match="no image to draw"):
        draw_sheet(open_data(file))


def test_a_source_with_polygons_is_drawn_with_masks(shared):
    (shown, *_) = _choose(open_data(str(shared / "datasets" / "fruits_nuts_coco_seg")), 2)
    assert shown.sample.masks.shape[1:] == shown.sample.image.shape[:2]


def test_an_image_of_several_records_is_shown_once_with_all_boxes(tmp_path):
    other = (0.5, 0.5, 0.9, 0.9)
    records = [record([GOOD_BOX], texts=["cat"]), record([other], texts=["dog"], labels=[2])]
    data = open_data(write(tmp_path / "a.record", records))
    merged = inspect_data(data).statistics.records_merged
    (shown,) = _choose(data, 4, merged)
    np.testing.assert_array_equal(shown.sample.boxes, np.float32([GOOD_BOX, other]))
    assert draw_sheet(data, records_merged=merged).ndim == 3


def test_names_that_no_font_has_and_augmentations_that_fail_are_told(tmp_path):
    file = write(tmp_path / "a.record", [record(texts=["two\nlines \U000e0001\ufdd0"])])
    told: list[str] = []

    def fail(sample, seed):
        raise tf.errors.InvalidArgumentError(None, None, "{{function_node f}} no way [Op:X]")

    data = open_data(file)
    order = ["two\nlines \ufdd0"]
    draw_sheet(data, class_order=order, augmentations=[fail], tell=told.append)
    assert "an augmentation failed (no way)" in told[0]
    assert "No font here has all characters of" in told[1]
    assert "U+FDD0" in told[1]
