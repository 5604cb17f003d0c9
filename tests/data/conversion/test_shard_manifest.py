"""Records of a conversion that several processes share."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.data.conversion.to_records import convert
from holdfast.data.part_of_work import PartOfWork
from holdfast.data.sources.synthetic import make_synthetic
from holdfast.data.sources.synthetic_shapes import SyntheticScene
from holdfast.errors import HoldfastError


class StopError(Exception):
    """Stands for a kill."""


@pytest.fixture(scope="module")
def source():
    return make_synthetic(20, SyntheticScene(size=48))


@pytest.fixture(scope="module")
def whole(source, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return convert(source, str(folder), num_shards=3), contents(folder)


def contents(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def times(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.record-*")}


def convert_part(source, folder, number, count=4, **options):
    part = PartOfWork(number, count)
    return convert(source, str(folder), num_shards=3, part=part, **options)


def test_parts_in_any_order_become_what_one_process_makes(source, whole, tmp_path):
    expected, files = whole
    results = [convert_part(source, tmp_path, number) for number in (3, 1, 4, 2)]
    assert [result.part for result in results] == ["3/4", "1/4", "4/4", "2/4"]
    assert sum(result.images for result in results) == expected.images
    before = times(tmp_path)
    merged = convert(source, str(tmp_path), num_shards=3)
    assert merged.shards_kept == 6
    assert times(tmp_path) == before
    assert contents(tmp_path) == files
    assert (merged.images, merged.boxes, merged.part) == (expected.images, expected.boxes, None)


def test_a_killed_part_is_done_again_alone(source, whole, tmp_path):
    convert_part(source, tmp_path, 1, 2)
    before = times(tmp_path)

    def stop(done, total):
        if done == total - 1:
            raise StopError

    with pytest.raises(StopError):
        convert_part(source, tmp_path, 2, 2, progress=stop)
    there = times(tmp_path)
    assert before.items() < there.items()
    assert convert_part(source, tmp_path, 2, 2).shards_kept == len(there) - len(before)
    assert there.items() <= times(tmp_path).items()
    assert convert(source, str(tmp_path), num_shards=3).shards_kept == 6
    assert contents(tmp_path) == whole[1]


def test_what_no_part_has_done_is_done_at_the_end(source, whole, tmp_path):
    convert_part(source, tmp_path, 2, 3)
    assert convert(source, str(tmp_path), num_shards=3).shards_kept == 2
    assert contents(tmp_path) == whole[1]


def test_another_number_of_parts_keeps_what_is_there(source, whole, tmp_path):
    for number in (1, 2):
        convert_part(source, tmp_path, number, 2)
    assert [convert_part(source, tmp_path, number, 3).shards_kept for number in (1, 2, 3)] == [
        2
    ] * 3
    convert(source, str(tmp_path), num_shards=3)
    assert contents(tmp_path) == whole[1]


def test_a_part_of_other_data_is_refused(source, tmp_path):
    convert_part(source, tmp_path, 1, 2)
    before = contents(tmp_path)
    other = make_synthetic(21, SyntheticScene(size=48))
    for part in (PartOfWork(2, 2), None):
        with pytest.raises(HoldfastError, match=r"holds the conversion of 20@48.*not of 21@48"):
            convert(other, str(tmp_path), part=part)
    assert contents(tmp_path) == before


def test_a_part_never_deletes_what_another_one_writes(source, tmp_path):
    convert_part(source, tmp_path, 1, 2)
    half = tmp_path / ".train.record-00000-of-00003.elsewhere.7"
    half.write_text("under way on another machine")
    convert_part(source, tmp_path, 2, 2)
    assert half.exists()
    convert_part(source, tmp_path, 1, 2)
    assert not half.exists()
