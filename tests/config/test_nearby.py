from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.config.nearby import (
    find_inside,
    find_nearby,
    is_record_name,
    role_of,
    shard_pattern,
    sort_found,
)
from holdfast.config.paths import find_files


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as the tutorials make it, with the config two folders down."""
    folder = tmp_path / "project"
    (folder / "models" / "mine").mkdir(parents=True)
    monkeypatch.chdir(folder / "models" / "mine")
    return folder


def put(path: Path, content: bytes = b"x") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return str(path)


def test_what_lies_where_tutorials_put_it_is_found_two_folders_up(project: Path):
    record = put(project / "annotations" / "train.record")
    label_map = put(project / "annotations" / "label_map.pbtxt")
    index = put(project / "pre-trained-models" / "ssd" / "checkpoint" / "ckpt-0.index")
    found = find_nearby(project / "models" / "mine")
    assert found.records == (record,)
    assert found.label_maps == (label_map,)
    assert found.checkpoints == (index.removesuffix(".index"),)


def test_other_folders_above_are_entered_only_if_the_config_names_them(project: Path):
    record = put(project / "raccoons" / "train.record")
    folder = project / "models" / "mine"
    assert find_nearby(folder).records == ()
    assert find_nearby(folder, [r"D:\work\raccoons\train.record"]).records == (record,)


def test_the_own_folder_comes_first_and_each_file_once(project: Path):
    folder = project / "models" / "mine"
    own, other = put(folder / "b.record"), put(project / "data" / "a.record")
    assert find_nearby(folder).records == (own, other)


def test_hidden_and_empty_files_and_folders_that_cannot_be_read_are_passed_over(project: Path):
    folder = project / "models" / "mine"
    put(folder / ".git" / "train.record")
    put(folder / "empty.record", b"")
    (folder / "broken.record").symlink_to(folder / "gone")
    (folder / "loop").symlink_to(folder)
    put(folder / "kept.record")
    assert [Path(each).name for each in find_nearby(folder).records] == ["kept.record"]


def test_looking_ends_after_so_many_entries(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("holdfast.config.nearby._MOST_ENTRIES", 20)
    folder = project / "models" / "mine"
    near = put(folder / "a.record")
    for number in range(30):
        put(folder / "images" / f"{number}.jpg")
    put(folder / "images" / "z" / "far.record")
    assert find_nearby(folder).records == (near,)


def test_a_folder_that_a_wrong_path_leads_into_is_searched(project: Path, tmp_path: Path):
    record = put(tmp_path / "elsewhere" / "deep" / "train.tfrecord")
    written = [str(tmp_path / "elsewhere" / "deep" / "train.record")]
    assert find_nearby(project / "models" / "mine", written).records == (record,)


def test_shards_become_one_pattern_that_matches_all_of_them(tmp_path: Path):
    folder = tmp_path / "odd [1]"
    files = [put(folder / f"train.record-{i:05d}-of-00003") for i in range(3)]
    (pattern,) = find_inside(folder).records
    assert [str(each) for each in find_files(pattern, tmp_path).files] == files
    assert shard_pattern("a.record") == "a.record"


def test_a_label_map_beside_the_folder_counts_too(tmp_path: Path):
    put(tmp_path / "data" / "train.record")
    label_map = put(tmp_path / "labels.txt")
    put(tmp_path / "notes.txt")
    assert find_inside(tmp_path / "data").label_maps == (label_map,)


def test_parts_of_checkpoints_are_not_records():
    found = sort_found(["a/ckpt-0.index", "a/ckpt-0.data-00000-of-00001", "a/train.record"])
    assert found.records == ("a/train.record",)
    assert found.checkpoints == ("a/ckpt-0",)


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("data/train.record", "train"),
        ("TRAINRECORD", "train"),
        ("pets_faces_train.record-?????-of-00010", "train"),
        ("coco_val2017.record", "val"),
        ("eval.tfrecord", "val"),
        ("valid/cells.tfrecord", "val"),
        (r"C:\a\test_labels.record", "test"),
        ("latest.record", None),
        ("interval.record", None),
        ("test/train.record", "train"),
    ],
)
def test_names_tell_what_records_are_for(path: str, role: str | None):
    assert role_of(path) == role


def test_records_have_the_names_that_inspect_takes_for_records():
    from holdfast.data.records import record_files

    names = ["a.record", "a.tfrecord", "a.tfrec", "a.tfr", "a.records", "a-00000-of-00010", "a.csv"]
    names += ["label_map.pbtxt", "recorded.jpg", "a.record.gz", "train.record-00000-of-00001"]
    assert [is_record_name(n) for n in names] == [record_files.is_record_name(n) for n in names]
