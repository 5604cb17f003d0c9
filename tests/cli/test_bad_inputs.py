"""The worst inputs, one after the other: no traceback, the right exit code, and nothing lost."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from holdfast.errors import HoldfastError

from .bad_inputs import OUT, ROWS, Row, yolo
from .commands import holdfast, words

HUNG_SECONDS = 120  # far more than any takes on a slow machine: whoever waits longer, hangs
NEVER = ("function_node", "Traceback", "Errno", "tensorflow.python", "<class '", "[Op:")


@pytest.fixture
def alarm():
    """Fail a test that hangs."""

    def hung(*_: object) -> None:
        pytest.fail("the command hangs")

    before = signal.signal(signal.SIGALRM, hung)
    signal.alarm(HUNG_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def contents(folder: Path) -> dict[bytes, bytes]:
    """Give every file that is not Holdfast's to write, by its path."""
    found = {}
    for place, folders, names in os.walk(os.fsencode(folder)):
        folders[:] = [each for each in folders if each != OUT.encode()]
        for name in names:
            path = os.path.join(place, name)
            if os.path.isfile(path) and not name.startswith(b".holdfast-statistics"):
                with open(path, "rb") as stream:
                    found[path] = stream.read()
    return found


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_bad_input_is_told_in_words_and_stays_as_it_is(row: Row, tmp_path, monkeypatch, alarm):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "here"
    (folder / OUT).mkdir(parents=True)
    row.make(folder)
    before = contents(folder)
    monkeypatch.chdir(folder)
    finished = holdfast(*row.arguments)
    said = words(f"{finished.out} {finished.err}")
    assert finished.code == row.code, said
    assert said
    for piece in row.says:
        assert piece in said
    for piece in NEVER:
        assert piece not in said
    if finished.code == 2:
        assert "error" in finished.err.lower() or "error" in finished.out
    assert contents(folder) == before


def test_there_are_as_many_as_promised():
    assert len({row.name for row in ROWS}) == len(ROWS) >= 40


def test_a_folder_that_nobody_may_read_is_told(tmp_path, monkeypatch):
    """As root everything can be read, so the system's answer is made up."""
    (tmp_path / "data").mkdir()

    def scandir(folder: str) -> None:
        raise PermissionError(13, "Permission denied", folder)

    monkeypatch.setattr(os, "scandir", scandir)
    for command in (("inspect", tmp_path / "data"), ("convert", tmp_path / "data", tmp_path / "o")):
        finished = holdfast(*command)
        assert finished.code == 2
        assert "cannot be read: Permission denied" in words(finished.err)


def test_what_is_known_is_printed_before_anything_is_drawn(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yolo()(tmp_path)

    def draw_sheet(*_: object, **__: object) -> None:
        raise HoldfastError("the pen is broken")

    monkeypatch.setattr("holdfast.data.survey.contact_sheet.draw_sheet", draw_sheet)
    finished = holdfast("inspect", tmp_path / "data")
    assert finished.code == 0
    numbers, _, drawn = words(finished.out).partition("not drawn: ")
    assert "images 1" in numbers
    assert drawn == "No contact sheet: the pen is broken"


def test_a_system_error_is_told_in_words(tmp_path, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "out")

    monkeypatch.setattr("holdfast.data.conversion.to_records.convert", full)
    yolo()(tmp_path)
    finished = holdfast("convert", tmp_path / "data", tmp_path / "out")
    assert (finished.code, finished.out) == (2, "")
    assert words(finished.err).startswith("error: out: No space left on device.")
