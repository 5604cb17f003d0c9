from __future__ import annotations

import pytest

from holdfast.data.splitting.split_names import conflict_notes, named_split, split_of_files


@pytest.mark.parametrize(
    ("path", "split"),
    [
        ("train/1.jpg", "train"),
        ("Train/1.jpg", "train"),
        ("TEST/1.jpg", "test"),
        ("Valid/images/1.jpg", "val"),
        ("images/test2017/1.jpg", "test"),
        ("valid2017/1.jpg", "val"),
        ("data/validation_1/x.jpg", "val"),
        ("train_images/1.jpg", "train"),
        ("images_train/1.jpg", "train"),
        ("TestImages/1.jpg", "test"),
        ("imagesTest/1.jpg", "test"),
        ("training_set/1.jpg", "train"),
        ("testset/1.jpg", "test"),
        ("trainimages/1.jpg", "train"),
        ("raccoon-train/1.jpg", "train"),
        ("my-data-val/1.jpg", "val"),
        ("Pothole.Test/1.jpg", "test"),
        ("eval/1.jpg", "val"),
        ("dev/1.jpg", "val"),
        ("trn/1.jpg", "train"),
        ("test-dev2017/1.jpg", "test"),
        ("train-v2/1.jpg", "train"),
        ("training/val/1.jpg", "val"),
        ("cells-test/train/1.jpg", "train"),
        ("test/bullet-train/1.jpg", "test"),
    ],
)
def test_a_split_is_read_from_folders(path, split):
    assert named_split(path) == split


@pytest.mark.parametrize(
    "folder",
    [
        *("test_tubes", "trainval", "train_val", "TrainVal", "train_and_test", "restrain"),
        *("interval", "contest", "latest", "trains", "values", "validity", "devices", "my-dev"),
        *("attest", "retrain", "evaluated", "train_station", "2017", "-"),
    ],
)
def test_words_that_only_look_like_a_split_are_none(folder):
    assert named_split(f"{folder}/1.jpg") is None


def test_the_name_of_an_image_is_not_that_of_a_split():
    assert named_split("train.jpg") is None
    assert named_split("images/test_1.jpg") is None


@pytest.mark.parametrize(
    ("path", "split"),
    [
        ("annotations/person_keypoints_train2017.json", "train"),
        ("val.json", "val"),
        ("train_labels.csv", "train"),
        ("data/testLabels.csv", "test"),
        ("eval.record", "val"),
        ("trainval.json", None),
        ("train_and_test.json", None),
        ("latest.json", None),
        ("test/_annotations.coco.json", "test"),
        ("images-val/labels.csv", "val"),
    ],
)
def test_a_split_is_read_from_the_name_of_an_annotation_file(path, split):
    assert named_split(path, by_name=True) == split


@pytest.mark.parametrize(
    ("image", "annotation", "split"),
    [
        ("test/1.jpg", "annotations/1.xml", "test"),
        ("images/1.jpg", "annotations/train/1.xml", "train"),
        ("val/1.jpg", "train/1.xml", "val"),
        (None, "train/1.xml", "train"),
        ("images/1.jpg", "annotations/1.xml", None),
    ],
)
def test_the_folder_of_an_image_counts_before_that_of_its_annotation(image, annotation, split):
    assert split_of_files(image, annotation) == split


def test_different_splits_of_image_and_annotation_are_said():
    alike = [("train/1.jpg", "train/1.xml"), ("val/2.jpg", "xml/2.xml"), (None, "train/3.xml")]
    assert conflict_notes(alike) == []
    (note,) = conflict_notes([*alike, ("val/4.jpg", "train/4.xml")])
    assert note == (
        "The folders of 1 image and its annotation name different splits "
        "(val/4.jpg, train/4.xml): the image's counts."
    )
