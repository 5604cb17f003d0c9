"""What `new` makes of data: any format, splits, classes, records."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from holdfast.config.check_config import check_config
from holdfast.config.label_map import load_label_map
from holdfast.config.load import load_config
from holdfast.data.input.build_input import build_training_input, open_reader
from holdfast.data.records.record_files import read_records
from holdfast.data.survey.inspection import inspect_data

from ..commands import words
from .new_runs import SYNTHETIC, made, refusal, run
from .pet_datasets import LABEL_MAP, coco, labelme, picture, records, voc, yolo


@pytest.mark.parametrize("dataset", [voc, coco, yolo, labelme])
def test_a_folder_of_any_format_becomes_a_config_that_is_ready_to_train(dataset, tmp_path):
    dataset(tmp_path / "pets")
    document = made("fpnlite_320", "--data", "pets", "--out", "out")
    assert document["format"] == dataset.__name__
    assert document["num_classes"] == 2
    assert sum(split["images"] for split in document["splits"].values()) == 10
    assert sum(split["boxes"] for split in document["splits"].values()) == 15
    report = check_config(document["config"])
    assert report.errors + report.warnings == ()
    label_map = load_label_map(tmp_path / "out" / document["label_map"])
    assert {item.id: item.name for item in label_map.item} == {1: "cat", 2: "dog"}


def test_the_config_feeds_a_training_from_any_working_directory(tmp_path, monkeypatch):
    made("ssd_mobilenet_v2_320", *SYNTHETIC, "--out", "shapes", "--batch-size", 3)
    monkeypatch.chdir("/")
    path = tmp_path / "shapes" / "pipeline.config"
    config = load_config(path)
    opened = open_reader(config.train_input_reader, path.parent)
    batches = build_training_input(config, opened, inspect_data(opened).statistics)
    batch = next(iter(batches.batches()))
    assert batch.images.shape == (3, 300, 300, 3)
    assert int(batch.truth.classes.numpy().max()) < 4


def test_splits_of_the_data_are_kept_and_a_test_split_is_not_touched(tmp_path):
    yolo(tmp_path / "pets", splits=("train", "train", "valid", "train", "test"))
    document = made("fpnlite_320", "--data", "pets", "--out", "out")
    images = {name: split["images"] for name, split in document["splits"].items()}
    assert images == {"train": 6, "val": 2, "test": 2}
    assert document["evaluates_on"] == "val"
    text = (tmp_path / "out" / "pipeline.config").read_text()
    assert "/val.record" in text
    assert "/test.record" not in text
    anew = made("fpnlite_320", "--data", "pets", "--out", "anew", "--resplit", "--val", 0.5)
    assert anew["splits"].keys() == {"train", "val"}
    assert sum(split["images"] for split in anew["splits"].values()) == 10


def test_if_nothing_is_held_out_it_warns():
    document = made("fpnlite_320", *SYNTHETIC, "--out", "shapes", "--val", 0)
    assert "no image is held out" in document["warnings"][0]["message"]
    assert load_config(document["config"]).eval_input_reader == ()


def test_records_with_splits_are_used_where_they_are(tmp_path):
    shards = [f"train.record-0000{index}-of-00002" for index in range(2)]
    records(tmp_path / "records", *shards, "val.record", "other.record")
    document = made("fpnlite_320", "--data", "records", "--out", "out")
    assert document["format"] == "tfrecord"
    assert document["splits"]["train"]["input_path"] == ["../records/train.record-?????-of-00002"]
    assert document["splits"]["train"]["images"] == 4
    assert "other.record: left out" in document["notes"][0]
    assert sorted(os.listdir("out")) == ["new.json", "pipeline.config"]
    assert check_config("out/pipeline.config").errors == ()


def test_records_without_splits_are_copied_unchanged_into_some(tmp_path):
    names = [f"all-{index}.record" for index in range(5)]
    records(tmp_path / "records", *names)
    document = made("fpnlite_320", "--data", "records", "--out", "out")
    folder = tmp_path / "out" / "out_records"
    copies = {
        name: list(read_records(str(folder / f"{name}.record-00000-of-00001")))
        for name in ("train", "val")
    }
    before = [each for name in names for each in read_records(str(tmp_path / "records" / name))]
    assert Counter(copies["train"] + copies["val"]) == Counter(before)
    assert document["splits"]["val"]["images"] == len(copies["val"]) == 2
    # Stratified: one of each class.
    assert document["classes"] == {"cat": 4, "dog": 4}


def test_without_a_val_split_it_evaluates_on_test(tmp_path):
    records(tmp_path / "records", "train.record", "test.record")
    document = made("fpnlite_320", "--data", "records", "--out", "out")
    assert document["evaluates_on"] == "test"


def test_the_label_map_of_records_is_found_or_asked_for(tmp_path):
    records(tmp_path / "records", "train.record", "val.record")
    (tmp_path / "records" / "second.pbtxt").write_text(LABEL_MAP)
    assert "map.pbtxt, second.pbtxt" in refusal("fpnlite_320", "--data", "records").fix
    for name in ("map.pbtxt", "second.pbtxt"):
        (tmp_path / "records" / name).unlink()
    assert "--label-map" in refusal("fpnlite_320", "--data", "records").fix
    (tmp_path / "elsewhere.pbtxt").write_text(LABEL_MAP)
    document = made("fpnlite_320", "--data", "records", "--label-map", "elsewhere.pbtxt")
    assert document["label_map"] == "../elsewhere.pbtxt"
    assert "goes with TFRecords" in refusal("fpnlite_320", *SYNTHETIC, "--label-map", "a").message


def test_data_that_cannot_be_used_is_refused_with_the_reason(tmp_path):
    (tmp_path / "empty").mkdir()
    assert refusal("fpnlite_320", "--data", "empty").message == "empty holds no images."
    picture(tmp_path / "unlabeled" / "1.jpg", 1)
    assert "no annotations" in refusal("fpnlite_320", "--data", "unlabeled").message
    assert "does not exist" in refusal("fpnlite_320", "--data", "nowhere").message
    assert not (tmp_path / "fpnlite_320").exists()
    voc(tmp_path / "pets")
    for image in (tmp_path / "pets").glob("*.jpg"):
        image.unlink()
    message = refusal("fpnlite_320", "--data", "pets").message
    assert "no image to train on: cannot be read" in message
    voc(tmp_path / "boxless", box=(10, 10, 10, 10))
    message = refusal("fpnlite_320", "--data", "boxless", "--out", "other").message
    assert "No training image has a box to train on: no height or no width" in message


def test_what_is_left_out_is_named(tmp_path):
    voc(tmp_path / "pets")
    (tmp_path / "pets" / "0.jpg").write_bytes(b"no image")
    result = run("fpnlite_320", "--data", "pets")
    assert "left out: 1 box in 1 image: cannot be read: 0.xml" in words(result.stdout)


def test_much_that_is_left_out_is_the_first_thing_said(tmp_path):
    voc(tmp_path / "pets")
    for index in range(4):
        (tmp_path / "pets" / f"{index}.jpg").write_bytes(b"no image")
    result = run("fpnlite_320", "--data", "pets", "--out", "out")
    said = "4 of 10 images (40%) are left out, most often because cannot be read"
    assert words(result.stdout).startswith(f"warning {said}")
    assert words(result.stdout).count(said) == 1
    (warning, *_) = made("fpnlite_320", "--data", "pets", "--out", "again")["warnings"]
    assert warning["message"] == said


def test_several_sets_of_different_formats_become_one(tmp_path):
    voc(tmp_path / "pets")
    coco(tmp_path / "more")
    document = made("fpnlite_320", "--data", "pets", "--data", "more", "--out", "out")
    assert document["format"] == "voc + coco"
    assert sum(split["images"] for split in document["splits"].values()) == 20
    assert document["num_classes"] == 2
    assert any("Merged by name" in note for note in document["notes"])
    again = made("fpnlite_320", "--data", "pets", "--data", "more", "--out", "out")
    assert again["config"] == document["config"]
    error = refusal("fpnlite_320", "--data", "pets", "--out", "out")
    assert "was made with data" in error.message


def test_some_classes_are_kept_and_others_merged(tmp_path):
    voc(tmp_path / "pets")
    document = made("fpnlite_320", "--data", "pets", "--classes", "dog", "--out", "dogs")
    assert document["num_classes"] == 1
    assert document["warnings"] == []  # what was asked for is not a doubt
    assert sum(split["images"] for split in document["splits"].values()) == 10
    assert sum(split["boxes"] for split in document["splits"].values()) == 5
    merged = made("fpnlite_320", "--data", "pets", "--map", "cat,dog=pet", "--out", "all")
    assert sum(split["boxes"] for split in merged["splits"].values()) == 15
    label_map = load_label_map(tmp_path / "all" / merged["label_map"])
    assert [item.name for item in label_map.item] == ["pet"]
    assert "Did you mean dog?" in refusal("fpnlite_320", "--data", "pets", "--classes", "dgo").fix


def test_classes_of_records_are_chosen_by_copying_them(shapes):
    document = made("fpnlite_320", "--data", shapes, "--classes", "star", "--out", "stars")
    assert document["num_classes"] == 1
    assert document["format"] == "tfrecord"
    assert document["conversion"]["classes"].keys() == {"star"}


def test_the_folder_of_the_images_can_be_named(tmp_path):
    coco(tmp_path / "pets")
    (tmp_path / "notes").mkdir()
    (tmp_path / "pets/annotations.json").rename(tmp_path / "notes/annotations.json")
    document = made("fpnlite_320", "--data", "notes", "--images", "pets", "--out", "out")
    assert sum(split["images"] for split in document["splits"].values()) == 10
