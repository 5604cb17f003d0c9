from __future__ import annotations

import io
import sys

from holdfast.cli.progress_bar import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_plain_lines_are_few_and_end_with_everything(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress("read", "files") as report:
        for done in range(1, 1001):
            report(done, 1000)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0].startswith("read: 100 of 1000 files, ")
    assert lines[-1].startswith("read: 1000 of 1000 files, ")


def test_nothing_to_do_is_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress("read", "files") as report:
        report(0, 0)


def test_a_terminal_has_a_bar(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with progress("read", "files") as report:
        report(3, 10)
    assert "3/10" in stream.getvalue()
    assert "a second" in stream.getvalue()
