"""Text files of annotations: lines with their numbers, whatever wrote them."""

from __future__ import annotations

import codecs
import math
import re
from typing import NamedTuple

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Python's splitlines also ends lines at characters that may stand in a name.
_LINE_END = re.compile(r"\r\n|\r|\n")


class Line(NamedTuple):
    """A line that is not blank; numbers count from 1."""

    number: int
    text: str


class PlainText(NamedTuple):
    """The lines of a file, and how its bytes had to be read if they are not UTF-8."""

    lines: list[Line]
    encoding: str = ""  # "" is UTF-8


def split_lines(content: bytes) -> PlainText:
    r"""Read a file's content: UTF-8, what Excel calls Unicode, or else the Windows of the West.

    >>> split_lines(b"a\r\n\r\nb\n").lines
    [Line(number=1, text='a'), Line(number=3, text='b')]
    >>> split_lines("Café".encode("cp1252")).encoding
    'Windows-1252'
    """
    text, encoding = _decode(content)
    numbered = enumerate(_LINE_END.split(text), start=1)
    return PlainText([Line(number, line) for number, line in numbered if line.strip()], encoding)


def encoding_notes(path: str, text: PlainText) -> list[str]:
    """Say so if a file is not UTF-8: its names may be read wrong."""
    return [f"{path} is not UTF-8: it is read as {text.encoding}."] if text.encoding else []


def to_number(text: str) -> float:
    """Give a number, also one with a decimal comma; NaN where there is none, for the checks.

    >>> to_number(" 1.5"), to_number("1,5"), to_number("")
    (1.5, 1.5, nan)
    """
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return math.nan


def is_number(text: str) -> bool:
    """Tell whether a text is a finite number."""
    return math.isfinite(to_number(text))


def _decode(content: bytes) -> tuple[str, str]:
    if content.startswith(_UTF_16):
        return content.decode("utf-16", "replace"), ""
    try:
        return content.decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        pass
    try:
        return content.decode("cp1252"), "Windows-1252"
    except UnicodeDecodeError:
        return content.decode("latin-1"), "Latin-1"
