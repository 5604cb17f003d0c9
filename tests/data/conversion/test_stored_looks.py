"""Images are looked at once for a split, however many processes and calls there are."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.data.conversion import stored_looks
from holdfast.data.conversion.stored_looks import StoredLooks
from holdfast.data.part_of_work import PartOfWork
from holdfast.data.sources.source import Entry
from holdfast.data.splitting.looking import look_at
from holdfast.progress import silent

from ..splitting.pictures import jpeg, photograph


def refuse():
    raise AssertionError("An image with a file is not read by its annotation.")


@pytest.fixture
def entries(tmp_path):
    found = []
    for number in range(5):
        path = tmp_path / f"{number}.jpg"
        path.write_bytes(jpeg(photograph(number)) if number != 3 else b"no image")
        entry = Entry(
            source_id=path.stem, place=path.name, filename="", read=refuse, image_path=str(path)
        )
        found.append(entry)
    return found


@pytest.fixture
def looked_at(monkeypatch):
    """Which images are really looked at; two in a file."""
    seen = []

    def look(entries, progress):
        seen.extend(entry.source_id for entry in entries)
        return look_at(entries, progress)

    monkeypatch.setattr(stored_looks, "look_at", look)
    monkeypatch.setattr(stored_looks, "_IMAGES", 2)
    return seen


def same(first, second):
    return all(
        one.is_image == other.is_image
        and (one.appearance is None) == (other.appearance is None)
        and (one.appearance is None or np.array_equal(one.appearance, other.appearance))
        for one, other in zip(first, second, strict=True)
    )


def test_a_second_call_looks_at_nothing_and_sees_the_same(entries, looked_at, tmp_path):
    out = str(tmp_path / "out")
    first = StoredLooks(out).look_at(entries, silent)
    assert same(first, look_at(entries, silent))
    looked_at.clear()
    assert same(StoredLooks(out).look_at(entries, silent), first)
    assert looked_at == []


def test_a_part_starts_at_its_own_place_and_takes_what_others_have_seen(
    entries, looked_at, tmp_path
):
    out = str(tmp_path / "out")
    second = StoredLooks(out, PartOfWork(2, 3)).look_at(entries, silent)
    assert looked_at == ["2", "3", "4", "0", "1"]
    looked_at.clear()
    assert same(StoredLooks(out, PartOfWork(1, 3)).look_at(entries, silent), second)
    assert looked_at == []


def test_a_changed_image_and_a_broken_file_are_looked_at_again(entries, looked_at, tmp_path):
    out = tmp_path / "out"
    StoredLooks(str(out)).look_at(entries, silent)
    looked_at.clear()
    (tmp_path / "0.jpg").write_bytes(jpeg(photograph(9)))
    seen = StoredLooks(str(out)).look_at(entries, silent)
    assert looked_at == ["0", "1"]
    assert same(seen, look_at(entries, silent))
    for path in (out / ".looks").iterdir():
        path.write_bytes(b"half")
    looked_at.clear()
    assert same(StoredLooks(str(out)).look_at(entries, silent), seen)
    assert looked_at == ["0", "1", "2", "3", "4"]


def test_progress_counts_all_images_up(entries, looked_at, tmp_path):
    told = []
    StoredLooks(str(tmp_path / "out"), PartOfWork(2, 3)).look_at(
        entries, lambda done, total: told.append((done, total))
    )
    assert told == sorted(told)
    assert told[-1] == (5, 5)
