from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from holdfast.config.label_map import load_label_map
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source

from ...config.texts import CONFIG
from ..commands import holdfast, words

OLD = CONFIG.replace('"train.record"', '"PATH_TO_BE_CONFIGURED"').replace('"eval', '"/old/eval')


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of a synthetic data set in two splits; not to be changed: copy them."""
    folder = tmp_path_factory.mktemp("records") / "records"
    source = open_source("12@64", format_name="synthetic", seed=1)
    convert(source, str(folder), val=0.25, seed=0)
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with an old config."""
    (tmp_path / "old.config").write_text(OLD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(data: object) -> tuple[int, dict[str, Any]]:
    finished = holdfast("check", "old.config", "--data", data, "--json")
    return finished.code, json.loads(finished.out)


def pasted(document: dict[str, Any]) -> int:
    return holdfast(*shlex.split(document["suggested"]["command"])[1:]).code


def test_options_for_records_with_splits_make_the_config_ready(folder: Path, records: Path):
    code, document = checked(records)
    settings = document["suggested"]["set"]
    reader = "tf_record_input_reader.input_path"
    assert settings[f"train_input_reader.{reader}"] == f"{records}/train.record-?????-of-00001"
    assert settings[f"eval_input_reader[0].{reader}"] == f"{records}/val.record-?????-of-00001"
    classes = len(load_label_map(records / "label_map.pbtxt").item)
    assert settings["model.ssd.num_classes"] == str(classes)
    assert (code, pasted(document)) == (1, 0)


def test_a_typo_in_the_label_map_is_an_error_that_names_both_sides(folder: Path, records: Path):
    copy = folder / "records"
    shutil.copytree(records, copy)
    names = [item.name for item in load_label_map(copy / "label_map.pbtxt").item]
    text = "".join(f'item {{ id: {i} name: "{n}x" }}\n' for i, n in enumerate(names, 1))
    (copy / "label_map.pbtxt").write_text(text)
    code, document = checked(copy)
    assert code == 1
    (error,) = [each for each in document["errors"] if each["path"] == "train_input_reader"]
    assert f"'{names[0]}'" in error["message"]
    assert f"'{names[0]}x'" in error["message"]
    assert document["suggested"]["ready"] is False


def test_a_config_that_reads_the_data_with_a_wrong_label_map_is_not_ready_but_can_be(
    folder: Path, records: Path
):
    shutil.copytree(records, folder / "records")
    text = CONFIG.replace('"train.record"', '"records/train.record-*"')
    text = text.replace('"eval.record"', '"records/val.record-*"')
    (folder / "old.config").write_text(text.replace("labels.pbtxt", "wrong.pbtxt"))
    names = [item.name for item in load_label_map(records / "label_map.pbtxt").item]
    wrong = "".join(f'item {{ id: {i} name: "{n}x" }}\n' for i, n in enumerate(names, 1))
    (folder / "wrong.pbtxt").write_text(wrong)
    code, document = checked("records")
    assert code == 1
    (error,) = [each for each in document["errors"] if each["path"] == "train_input_reader"]
    assert f"the label map '{names[0]}x'" in error["message"]
    assert document["suggested"]["ready"] is True
    assert pasted(document) == 0


def test_one_record_file_without_a_split_is_trained_on_and_nothing_is_evaluated(
    folder: Path, records: Path
):
    (folder / "data").mkdir()
    shutil.copy(next(records.glob("train.record-*")), folder / "data" / "shapes.tfrecord")
    shutil.copy(records / "label_map.pbtxt", folder / "data" / "classes.pbtxt")
    _, document = checked("data")
    settings = document["suggested"]["set"]
    assert (
        settings["train_input_reader.tf_record_input_reader.input_path"] == "data/shapes.tfrecord"
    )
    assert settings["train_input_reader.label_map_path"] == "data/classes.pbtxt"
    assert settings["eval_input_reader"] == ""
    assert pasted(document) == 0


def test_records_without_a_label_map_are_told_where_to_write_one(folder: Path, records: Path):
    (folder / "data").mkdir()
    shutil.copy(next(records.glob("train.record-*")), folder / "data" / "train.record")
    code, document = checked("data")
    assert code == 1
    errors = [each for each in document["errors"] if "have no label map" in each["message"]]
    assert "write data/label_map.pbtxt" in errors[0]["fix"]
    shutil.copy(records / "label_map.pbtxt", folder / "data" / "label_map.pbtxt")
    assert pasted(document) == 0


def test_annotations_are_to_be_converted_first_and_then_the_options_fit(folder: Path):
    write_yolo(folder / "photos")
    code, document = checked("photos")
    suggested = document["suggested"]
    assert suggested["first"] == "holdfast convert photos records"
    assert (code, suggested["ready"]) == (1, True)
    assert suggested["set"]["model.ssd.num_classes"] == "2"
    assert holdfast(*shlex.split(suggested["first"])[1:]).code == 0
    assert pasted(document) == 0


def test_the_conversion_never_goes_into_a_folder_that_is_there(folder: Path):
    write_yolo(folder / "photos")
    (folder / "records").mkdir()
    _, document = checked("photos")
    assert document["suggested"]["first"] == "holdfast convert photos photos_records"


def test_a_folder_without_data_is_an_error_of_the_command(folder: Path):
    (folder / "nothing").mkdir()
    finished = holdfast("check", "old.config", "--data", "nothing")
    assert (finished.code, finished.out) == (2, "")
    assert "nothing holds no annotations" in words(finished.err)


def write_yolo(folder: Path) -> None:
    """Write six small images of two classes, in YOLO's layout."""
    from PIL import Image

    for name in ("images", "labels"):
        (folder / name).mkdir(parents=True)
    for number in range(6):
        Image.new("RGB", (40, 30), (number * 40, 90, 30)).save(folder / f"images/{number}.png")
        (folder / f"labels/{number}.txt").write_text("0 0.5 0.5 0.4 0.4\n1 0.3 0.3 0.2 0.2\n")
    (folder / "data.yaml").write_text("names: [cat, dog]\n")
