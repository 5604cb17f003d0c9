"""Processes look at parts of the records; the statistics are those of one process."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.data.part_of_work import PartOfWork
from holdfast.data.sources.tfrecord import RecordLayout
from holdfast.data.survey import stored_observations
from holdfast.data.survey.observe import observe_records
from holdfast.data.survey.statistics import gather
from holdfast.data.survey.statistics_cache import record_statistics
from holdfast.data.survey.stored_observations import FOLDER_NAME, StoredObservations

from ..example_records import GOOD_BOX, png, record, write

LAYOUT = RecordLayout()


@pytest.fixture(autouse=True)
def user_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "holdfast"


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Three files with all that is hard: repeats across files, faults, nothing at all."""
    shards = [
        [
            record([GOOD_BOX] * 2, texts=["a", "b"], source_id="1"),
            record(image=b"x", source_id="2"),
        ],
        [],
        [
            record([(0.1, 0.1, 0.2, 0.2)], texts=["ä"], source_id="1"),  # one more box of image 1
            record([GOOD_BOX, (0.5, 0.5, 0.5, 0.5)], texts=["a", "a"], source_id="3"),
            record(image=png(seed=1), source_id="3"),
            b"not an example",
        ],
    ]
    return [write(tmp_path / "data" / f"{at}.record", each) for at, each in enumerate(shards)]


@pytest.fixture
def looked_at(monkeypatch) -> list[str]:
    """Which files are really looked at."""
    seen: list[str] = []

    def observe(files, layout, names):
        seen.extend(files)
        return observe_records(files, layout, names)

    monkeypatch.setattr(stored_observations, "observe_records", observe)
    return seen


def store(files, number, count):
    return StoredObservations(files, LAYOUT, None).store(PartOfWork(number, count))


def folder(files) -> Path:
    return Path(files[0]).parent / FOLDER_NAME


def test_statistics_of_parts_are_those_of_one_process_in_every_field(files, looked_at):
    expected = gather(observe_records(files, LAYOUT))
    assert [store(files, number, 2) for number in (2, 1)] == [0, 6]
    looked_at.clear()
    found = record_statistics(files, LAYOUT)
    assert looked_at == []
    assert found == expected
    assert found.records_merged
    assert found.left_out
    assert not folder(files).exists()


def test_a_part_that_was_done_is_not_done_again_and_another_one_is(files, looked_at):
    store(files, 1, 3)
    store(files, 1, 3)
    assert looked_at == files[:1]
    store(files, 3, 3)
    assert looked_at == [files[0], files[2]]
    looked_at.clear()
    assert record_statistics(files, LAYOUT) == gather(observe_records(files, LAYOUT))
    assert looked_at == files[1:2]


def test_a_changed_file_or_another_label_map_is_looked_at_anew(files, looked_at):
    store(files, 1, 1)
    write(Path(files[0]), [record([GOOD_BOX], texts=["b"], source_id="9")])
    looked_at.clear()
    assert record_statistics(files, LAYOUT) == gather(observe_records(files, LAYOUT))
    assert looked_at == files[:1]
    looked_at.clear()
    record_statistics(files, LAYOUT, {1: "a"})
    assert looked_at == files


def test_what_is_broken_is_looked_at_again(files, looked_at):
    store(files, 1, 1)
    for path in folder(files).iterdir():
        path.write_bytes(path.read_bytes()[:-4])
    looked_at.clear()
    assert record_statistics(files, LAYOUT) == gather(observe_records(files, LAYOUT))
    assert looked_at == files


def test_data_that_is_seen_under_another_path_is_known_too(files, looked_at, tmp_path):
    store(files, 1, 1)
    (tmp_path / "data").rename(tmp_path / "elsewhere")
    moved = [file.replace("/data/", "/elsewhere/") for file in files]
    looked_at.clear()
    assert record_statistics(moved, LAYOUT) == gather(observe_records(moved, LAYOUT))
    assert looked_at == []
