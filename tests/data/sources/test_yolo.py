from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from holdfast.data.sources.classes import keypoint_names
from holdfast.data.sources.source_formats import OpenOptions
from holdfast.data.sources.yolo import open_yolo
from holdfast.data.sources.yolo_labels import KeypointShape, parse_labels
from holdfast.errors import HoldfastError


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def pair(tmp_path, make_image):
    """Write an image and its label file, each at its path."""

    def make(image, label, text="0 0.5 0.5 0.2 0.4\n"):
        make_image(tmp_path / image, 40, 20)
        if label:
            write(tmp_path / label, text)
        return str(tmp_path)

    return make


def labels_of(source):
    return [(item.id, item.name) for item in source.label_map.item]


def test_boxes_are_given_by_center_and_size(pair):
    folder = pair("images/1.jpg", "labels/1.txt", "2 0.5 0.25 0.5 0.1\n0 1 1 0.5 0.5\n")
    (sample,) = open_yolo(folder)
    expected = [[0.2, 0.25, 0.3, 0.75], [0.75, 0.75, 1.25, 1.25]]
    np.testing.assert_allclose(sample.boxes, expected, rtol=1e-6)
    assert sample.classes.tolist() == [2, 0]
    np.testing.assert_allclose(sample.areas, [40, 200], rtol=1e-6)
    assert sample.source_id == "1.jpg"
    assert sample.masks is None


def test_polygons_give_boxes_areas_and_masks(pair):
    text = "0 0.25 0.2 0.75 0.2 0.75 0.8 0.25 0.8\n1 0.5 0.5 0.2 0.2\n"
    folder = pair("images/1.jpg", "labels/1.txt", text)
    source = open_yolo(folder)
    (sample,) = source
    np.testing.assert_allclose(sample.boxes[0], [0.2, 0.25, 0.8, 0.75], rtol=1e-6)
    assert sample.areas[0] == pytest.approx(20 * 12)
    assert sample.masks.shape == (2, 20, 40)
    assert sample.masks[0].sum() == 20 * 12
    assert sample.masks[0, 4:16, 10:30].all()
    assert sample.masks[1].sum() == 0
    assert any("1 of 2 objects have no outline" in note for note in source.notes)
    (without,) = open_yolo(folder, OpenOptions(masks=False))
    assert without.masks is None


def test_a_sixth_number_is_a_confidence(pair):
    (sample,) = open_yolo(pair("1.jpg", "1.txt", "0 0.5 0.5 0.2 0.2 0.75"))
    assert sample.confidences.tolist() == [0.75]


def test_keypoints_are_read_as_kpt_shape_says(pair, tmp_path):
    folder = pair("images/1.jpg", "labels/1.txt", "0 0.5 0.5 0.2 0.2 0.1 0.2 2 0 0 0\n")
    write(tmp_path / "data.yaml", "names: [bird]\nkpt_shape: [2, 3]\n")
    source = open_yolo(folder)
    (sample,) = source
    nan = np.nan
    np.testing.assert_allclose(sample.keypoints, [[[0.2, 0.1], [nan, nan]]], rtol=1e-6)
    assert keypoint_names(source.label_map) == ("keypoint_1", "keypoint_2")


def test_keypoints_without_visibility_are_unlabeled_at_the_origin():
    (line,) = parse_labels(b"0 .5 .5 .2 .2 .1 .2 0 0", KeypointShape(2, 2))
    np.testing.assert_array_equal(line.keypoints, [[0.1, 0.2], [np.nan, np.nan]])


@pytest.mark.parametrize(
    ("image", "label", "split"),
    [
        ("train/images/1.jpg", "train/labels/1.txt", "train"),
        ("images/val/1.jpg", "labels/val/1.txt", "val"),
        ("images/1.jpg", "labels/1.txt", None),
        ("obj_train_data/1.jpg", "obj_train_data/1.txt", None),
        ("my data/test/images/1.jpg", "my data/test/labels/1.txt", "test"),
    ],
)
def test_labels_are_found_in_every_layout(pair, image, label, split):
    (entry,) = open_yolo(pair(image, label)).entries
    assert len(entry.read().sample.boxes) == 1
    assert entry.split == split
    assert entry.place == label


def test_an_image_without_labels_is_one_without_objects(pair):
    pair("images/1.jpg", "labels/1.txt")
    folder = pair("images/2.jpg", None)
    source = open_yolo(folder)
    assert [len(sample.boxes) for sample in source] == [1, 0]
    assert "so without objects: 1 image" in source.notes[0]


def test_images_that_have_nothing_to_do_with_the_data_are_passed_over(pair):
    pair("train/images/1.jpg", "train/labels/1.txt")
    assert len(open_yolo(pair("docs/logo.png", None))) == 1


def test_a_label_file_without_image_fails_alone(pair, tmp_path):
    folder = pair("images/1.jpg", "labels/1.txt")
    write(tmp_path / "labels/2.txt", "0 0.5 0.5 0.2 0.2\n")
    write(tmp_path / "labels/classes.txt", "cat\n")
    good, bad = open_yolo(folder).entries
    assert good.read()
    with pytest.raises(HoldfastError, match="no image for this label file"):
        bad.read()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("data.yaml", "names: [cat, dog]"),
        ("data.yaml", "names: {0: cat, 1: dog}"),
        ("coco8.yaml", "path: nowhere\nnames:\n  0: cat\n  1: dog\n"),
        ("classes.txt", "cat\ndog\n"),
        ("labels/classes.txt", "cat\ndog\n"),
        ("obj.names", "cat\ndog"),
        ("data/my.names", "cat\ndog"),
    ],
)
def test_class_names_are_found(pair, tmp_path, name, text):
    folder = pair("images/1.jpg", "labels/1.txt", "1 0.5 0.5 0.1 0.1")
    write(tmp_path / name, text)
    assert labels_of(open_yolo(folder)) == [(1, "cat"), (2, "dog")]


def test_classes_without_names_are_called_by_their_number(pair):
    source = open_yolo(pair("images/1.jpg", "labels/1.txt", "5 0.5 0.5 0.1 0.1"))
    assert labels_of(source) == [(6, "class_5")]
    assert "class_5" in source.notes[0]


def test_classes_that_the_list_of_names_lacks_are_said(pair, tmp_path):
    folder = pair("1.jpg", "1.txt", "0 0.5 0.5 0.2 0.4\n7 0.5 0.5 0.2 0.4\n7 0.5 0.5 0.2 0.4\n")
    write(tmp_path / "classes.txt", "cat\ndog\n")
    (note,) = open_yolo(folder).notes
    assert note == "Only classes 0 to 1 have names: 2 boxes of class 7 left out."


@pytest.mark.parametrize("names", ["{cat: 0}", "{0.5: cat}", "cat"])
def test_names_of_a_form_that_yolo_does_not_have_are_refused(pair, tmp_path, names):
    folder = pair("1.jpg", "1.txt")
    write(tmp_path / "data.yaml", f"names: {names}\n")
    with pytest.raises(HoldfastError, match=r"data\.yaml: `names` is neither a list of names"):
        open_yolo(folder)


def test_contradicting_names_are_refused(pair, tmp_path):
    folder = pair("images/1.jpg", "labels/1.txt")
    write(tmp_path / "classes.txt", "cat")
    write(tmp_path / "labels/classes.txt", "dog")
    with pytest.raises(HoldfastError, match="name different classes"):
        open_yolo(folder)


@pytest.mark.parametrize(
    ("train", "val"),
    [
        ("one/images", "two/images"),
        ("../one/images", "../two/images"),
        ("[one/images]", "two.txt"),
    ],
)
def test_data_yaml_says_which_images_are_in_which_split(pair, tmp_path, train, val):
    pair("set/one/images/1.jpg", "set/one/labels/1.txt")
    pair("set/two/images/2.jpg", "set/two/labels/2.txt")
    pair("set/three/images/3.jpg", "set/three/labels/3.txt")
    write(tmp_path / "set/two.txt", "./two/images/2.jpg\n")
    write(tmp_path / "set/data.yaml", f"path: /else/where\ntrain: {train}\nval: {val}\nnames: [a]")
    for location in (tmp_path / "set/data.yaml", tmp_path / "set", tmp_path):
        source = open_yolo(str(location))
        assert [entry.split for entry in source.entries] == ["train", "val"]
        assert [len(sample.boxes) for sample in source] == [1, 1]


def test_places_of_data_yaml_that_do_not_exist_are_said(pair, tmp_path):
    folder = pair("train/images/1.jpg", "train/labels/1.txt")
    write(tmp_path / "data.yaml", "train: /gone/images\nnames: [a]")
    source = open_yolo(folder)
    assert "/gone/images for train, which does not exist" in source.notes[0]
    assert [entry.split for entry in source.entries] == ["train"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0 0.5 0.5 0.2", "Line 2 has 3 numbers"),
        ("0 0.5 0.5 0.2 x", "Line 2 is not all numbers"),
        ("-1 0.5 0.5 0.2 0.2", "not a class number"),
        ("0.5 0.5 0.5 0.2 0.2", "not a class number"),
        ("0 1 2 3 4 5 6 7", "Line 2 has 7 numbers"),
    ],
)
def test_a_line_that_cannot_be_understood_is_named(pair, line, message):
    folder = pair("images/1.jpg", "labels/1.txt", f"0 0.5 0.5 0.1 0.1\n{line}\n")
    (entry,) = open_yolo(folder).entries
    with pytest.raises(HoldfastError, match=message):
        entry.read()


def test_empty_lines_byte_order_marks_and_whole_floats_are_read():
    lines = parse_labels(b"\xef\xbb\xbf1.0 .5 .5 .1 .1\r\n\r\n  \n2 .5 .5 .1 .1")
    assert [line.class_index for line in lines] == [1, 2]


def test_equal_names_in_several_folders_are_told_apart_by_path(pair):
    pair("train/images/1.jpg", "train/labels/1.txt")
    source = open_yolo(pair("valid/images/1.jpg", "valid/labels/1.txt"))
    assert [entry.source_id for entry in source.entries] == [
        "train/images/1.jpg",
        "valid/images/1.jpg",
    ]


def test_real_yolo_data_is_read_whole(shared):
    source = open_yolo(str(shared / "datasets/okra_yolo"))
    counts = Counter(number for sample in source for number in sample.classes.tolist())
    assert len(source) == 112
    assert counts.total() == 285
    assert set(counts) == {1, 5, 9}
    assert Counter(entry.split for entry in source.entries) == {"train": 76, "val": 15, "test": 21}


def test_the_sizes_of_boxes_are_shares_of_the_image(pair):
    text = "0 0.5 0.5 0.2 0.4\n0 0.25 0.2 0.75 0.2 0.75 0.8 0.25 0.8\n"
    (entry,) = open_yolo(pair("images/1.jpg", "labels/1.txt", text)).entries
    assert entry.box_areas == pytest.approx((0.08, 0.3))
