from __future__ import annotations

import math

import pytest

from holdfast.data.sources.plain_text import encoding_notes, is_number, split_lines, to_number


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_keep_their_numbers_whatever_ends_them(end):
    text = split_lines(end.join(["a", "", " ", "b c", ""]).encode())
    assert text.lines == [(1, "a"), (4, "b c")]


def test_only_the_ends_of_lines_end_a_line():
    """Python's splitlines would cut at each of these, and names may hold them."""
    assert split_lines("a\x0bb\x1cc\u2028d\x85e".encode()).lines == [(1, "a\x0bb\x1cc\u2028d\x85e")]


@pytest.mark.parametrize(
    ("encoding", "told"),
    [
        ("utf-8", ""),
        ("utf-8-sig", ""),
        ("utf-16", ""),
        ("cp1252", "Windows-1252"),
        ("latin-1", "Windows-1252"),
    ],
)
def test_names_are_read_in_what_they_are_written_in(encoding, told):
    text = split_lines("Bücher, café\nñandú\n".encode(encoding))
    assert [line.text for line in text.lines] == ["Bücher, café", "ñandú"]
    assert text.encoding == told
    assert bool(encoding_notes("a.txt", text)) == bool(told)


def test_bytes_that_windows_does_not_know_are_read_all_the_same():
    text = split_lines(b"a\x81b\xe9")
    assert text.lines == [(1, "a\x81bé")]
    assert encoding_notes("a.txt", text) == ["a.txt is not UTF-8: it is read as Latin-1."]


def test_an_empty_file_has_no_lines():
    assert split_lines(b"").lines == []


def test_numbers_may_have_a_decimal_comma():
    assert [to_number(text) for text in ("1", " 2.5 ", "-3,25", "1e2")] == [1, 2.5, -3.25, 100]
    assert all(math.isnan(to_number(text)) for text in ("", "x", "1.2.3", "1 2"))
    assert not any(is_number(text) for text in ("", "nan", "inf", "1e999"))
