"""Record files are found by path, pattern and folder."""

from __future__ import annotations

import pytest

from holdfast.data.records.record_files import (
    compression_of,
    find_records,
    holds_no_record,
    is_record_name,
    read_records,
)

from ..example_records import write


@pytest.mark.parametrize(
    "name",
    ["a.record", "a.tfrecord", "a.tfrecords", "a.records", "a.tfrec", "train-00000-of-00010"],
)
def test_names_that_tools_give_to_record_files_are_known(name):
    assert is_record_name(name)


@pytest.mark.parametrize("name", ["a.jpg", "label_map.pbtxt", "records.json", "record", "a.config"])
def test_other_names_are_not_taken_for_records(name):
    assert not is_record_name(name)


def test_a_folder_stands_for_the_record_files_in_it_also_one_level_down(tmp_path):
    for name in ("a.record", "train/b.tfrecord", "x/y/too_deep.record"):
        write(tmp_path / name, [b"1"])
    (tmp_path / "label_map.pbtxt").write_text("")
    (tmp_path / ".hidden.record").write_bytes(b"")
    assert find_records(str(tmp_path)) == [f"{tmp_path}/a.record", f"{tmp_path}/train/b.tfrecord"]


def test_a_pattern_and_a_path_stand_for_files_of_any_name(tmp_path):
    write(tmp_path / "a.bin", [b"1"])
    write(tmp_path / "b.bin", [b"1"])
    assert find_records(f"{tmp_path}/*.bin") == [f"{tmp_path}/a.bin", f"{tmp_path}/b.bin"]
    assert find_records(f"{tmp_path}/a.bin") == [f"{tmp_path}/a.bin"]
    assert find_records(f"{tmp_path}/c.bin") == []


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_what_was_written_is_read(tmp_path, compression, count):
    # A length of 0x78 is what a ZLIB file starts with.
    records = [bytes([number]) * 0x78 for number in range(count)]
    file = write(tmp_path / "a.record", records, compression)
    assert list(read_records(file)) == records
    assert holds_no_record(file) == (count == 0)
    if count:
        assert compression_of(file) == compression


def test_a_record_of_a_length_that_looks_like_zlib_is_read(tmp_path):
    records = [b"a" * 0x9C78]
    assert list(read_records(write(tmp_path / "a.record", records))) == records


def test_a_damaged_file_is_not_an_empty_one(tmp_path):
    (tmp_path / "a.record").write_bytes(b"damaged")
    assert not holds_no_record(f"{tmp_path}/a.record")
