"""Statistics are read again only if files, layout or label map changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.data.sources.open_source import open_source
from holdfast.data.sources.record_masks import MaskFormat
from holdfast.data.sources.tfrecord import RecordLayout
from holdfast.data.survey.observe import Observation
from holdfast.data.survey.statistics import Statistics
from holdfast.data.survey.statistics_cache import record_statistics, source_statistics

from ..example_records import GOOD_BOX, png, record, write

LAYOUT = RecordLayout()


@pytest.fixture(autouse=True)
def user_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "holdfast"


@pytest.fixture
def file(tmp_path: Path) -> str:
    records = [
        record([GOOD_BOX] * 3, texts=["a", "b", "a"], source_id="1"),
        record([GOOD_BOX, (0.5, 0.5, 0.5, 0.5)], source_id="2"),
        record(image=b"broken", source_id="3"),
        record(image=png(seed=1), source_id="1"),
    ]
    return write(tmp_path / "data" / "a.record", records)


def read(file: str, layout: RecordLayout = LAYOUT, names=None) -> tuple[Statistics, int]:
    """Give the statistics, and how many images were looked at to get them."""
    seen: list[Observation] = []
    found = record_statistics([file], layout, names, on_each=seen.append)
    return found, len(seen)


def caches(folder: Path | str) -> list[str]:
    return sorted(name for name in os.listdir(folder) if "holdfast-statistics" in name)


def test_the_second_reading_is_remembered_and_equal_in_every_field(file):
    first, looked_at = read(file)
    second, looked_at_again = read(file)
    assert (looked_at, looked_at_again) == (4, 0)
    assert first == second
    assert repr(first) == repr(second)  # types too: tuples, whole numbers
    assert first.left_out
    assert first.remarks
    assert len(caches(os.path.dirname(file))) == 1


def test_a_changed_file_is_read_again_and_replaces_what_was_remembered(file):
    read(file)
    write(Path(file), [record()])
    found, looked_at = read(file)
    assert (found.images, looked_at) == (1, 1)
    assert len(caches(os.path.dirname(file))) == 1


def test_a_file_of_equal_size_but_another_time_is_read_again(file):
    read(file)
    os.utime(file, ns=(1, 1))
    assert read(file)[1] == 4


@pytest.mark.parametrize(
    ("layout", "names"),
    [
        (RecordLayout(class_ids={"a": 1}), None),
        (RecordLayout(num_keypoints=2), None),
        (RecordLayout(masks=MaskFormat.PNG), None),
        (LAYOUT, {1: "a"}),
    ],
)
def test_another_layout_or_label_map_is_another_reading(file, layout, names):
    read(file)
    assert read(file, layout, names)[1] == 4
    assert read(file)[1] == 0


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"stamps": 1}', b"\xff\xfe"])
def test_a_broken_memory_is_read_again_and_mended(file, content):
    read(file)
    folder = Path(file).parent
    (folder / caches(folder)[0]).write_bytes(content)
    assert [read(file)[1], read(file)[1]] == [4, 0]


def test_beside_protected_data_the_user_s_cache_is_used(file, user_cache):
    folder = Path(file).parent
    folder.chmod(0o555)
    try:
        assert [read(file)[1], read(file)[1]] == [4, 0]
        assert caches(folder) == []
    finally:
        folder.chmod(0o755)
    assert len(caches(user_cache)) == 1


def test_where_nothing_can_be_written_it_is_read_every_time(file, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    folder = Path(file).parent
    folder.chmod(0o555)
    try:
        assert [read(file)[1], read(file)[1]] == [4, 4]
    finally:
        folder.chmod(0o755)


def test_a_source_is_remembered_until_an_image_or_label_changes(tmp_path):
    folder = tmp_path / "yolo"
    folder.mkdir()
    (folder / "a.png").write_bytes(png())
    (folder / "a.txt").write_text("0 0.5 0.5 0.2 0.4\n")

    def looked_at() -> int:
        seen: list[Observation] = []
        source_statistics(open_source(str(folder)), on_each=seen.append)
        return len(seen)

    assert [looked_at(), looked_at()] == [1, 0]
    (folder / "a.txt").write_text("0 0.5 0.5 0.2 0.5\n")
    assert [looked_at(), looked_at()] == [1, 0]
    (folder / "a.png").write_bytes(png(30, 30))
    assert [looked_at(), looked_at()] == [1, 0]
