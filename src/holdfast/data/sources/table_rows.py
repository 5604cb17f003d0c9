"""Tables as text: rows with their line numbers, whatever separates the fields."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

from holdfast.data.sources.plain_text import Line, PlainText
from holdfast.errors import HoldfastError

T = TypeVar("T")

_SEPARATORS = (",", ";", "\t", "|")
# Excel writes this line in front of the header and takes it out again.
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*')
_ROWS_LOOKED_AT = 20
_LINES_OF_A_ROW = 10  # more than a name has


class TableRow(NamedTuple):
    """A row; its line counts from 1."""

    line: int
    cells: list[str]


class Table(NamedTuple):
    """The lines of a table, and what separates their fields."""

    lines: list[Line]
    separator: str

    def rows(self) -> Iterator[TableRow]:
        """Yield the rows that are not blank.

        A field in quotes continues on the next line where that completes the row; a quote that
        somebody forgot to close ends with its line, so that it costs no other row.
        """
        width, index = 0, 0
        while index < len(self.lines):
            line = self.lines[index]
            cells = _split(line.text, self.separator)
            lines_taken = 1
            if len(cells) < width and line.text.count('"') % 2:
                cells, lines_taken = self._continued(index, width) or (cells, 1)
            if any(map(str.strip, cells)):
                width = width or len(cells)
                yield TableRow(line.number, cells)
            index += lines_taken

    def _continued(self, index: int, width: int) -> tuple[list[str], int] | None:
        """Give the fields of a row of several lines, and how many; None if it is not one."""
        following = self.lines[index : index + _LINES_OF_A_ROW]
        text = following[0].text
        for taken, (previous, line) in enumerate(pairwise(following), start=2):
            text += "\n" * (line.number - previous.number) + line.text
            if text.count('"') % 2 == 0:
                cells = _split(text, self.separator)
                return (cells, taken) if len(cells) == width else None
        return None

    def first_rows(self) -> list[list[str]]:
        """Give some rows from the start, enough to know a table by."""
        return [row.cells for row in Table(self.lines[:_ROWS_LOOKED_AT], self.separator).rows()]


def find_table(text: PlainText, meaning: Callable[[list[list[str]]], T | None]) -> Table | None:
    """Find the separator with which the first rows have a meaning; None if none has.

    `meaning` may raise HoldfastError for rows that are nearly right: that is raised if there is
    nothing better.
    """
    lines, separators = _without_separator_line(text.lines)
    trouble: HoldfastError | None = None
    for separator in separators:
        table = Table(lines, separator)
        try:
            if meaning(table.first_rows()) is not None:
                return table
        except HoldfastError as error:
            trouble = trouble or error
    if trouble is not None:
        raise trouble
    return None


def _without_separator_line(lines: list[Line]) -> tuple[list[Line], Sequence[str]]:
    found = _SEPARATOR_LINE.fullmatch(lines[0].text) if lines else None
    return (lines[1:], (found[1],)) if found else (lines, _SEPARATORS)


def _split(line: str, separator: str) -> list[str]:
    try:
        lines = io.StringIO(line, newline="\n")
        return next(csv.reader(lines, delimiter=separator, skipinitialspace=True), [])
    except csv.Error:  # a field of more than 128 KiB
        return line.split(separator)
