"""Tables of boxes (CSV): the OD API tutorial's, Roboflow's, keras-retinanet's and their like."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from holdfast.data.sources.annotated_objects import Box
from holdfast.data.sources.data_folder import DataFolder, open_folder
from holdfast.data.sources.image_files import Size
from holdfast.data.sources.listing import (
    BadLine,
    ListedImage,
    Listing,
    Mark,
    are_relative,
    build_source,
)
from holdfast.data.sources.open_images import is_open_images
from holdfast.data.sources.plain_text import encoding_notes, split_lines, to_number
from holdfast.data.sources.sniff import head
from holdfast.data.sources.source import Source
from holdfast.data.sources.source_formats import DEFAULTS, OpenOptions, ending, source_format
from holdfast.data.sources.table_columns import (
    NEEDED,
    BoxKind,
    Columns,
    Row,
    find_columns,
)
from holdfast.data.sources.table_rows import Table, TableRow, find_table
from holdfast.data.splitting.split_names import named_split
from holdfast.errors import HoldfastError
from holdfast.units import count_text

CANDIDATES = ending(".csv", ".tsv")


class _File(NamedTuple):
    """What one table says."""

    images: list[ListedImage]
    bad_lines: list[BadLine]
    notes: list[str]
    kind: BoxKind


def is_box_table(path: str) -> bool:
    """Tell whether a file is a table of boxes, be it one whose header has to be corrected."""
    if is_open_images(path):
        return False
    try:
        return find_table(split_lines(head(path)), find_columns) is not None
    except HoldfastError:
        return True


@source_format("csv", title="CSV table", candidates=CANDIDATES, is_one=is_box_table)
def open_csv(location: str, options: OpenOptions = DEFAULTS) -> Source:
    """Open a folder of tables with a box a row, or a single one.

    A row without box and class is an image without objects. Tables named after a split, such as
    train_labels.csv, are that split. Coordinates that are all within 0..1 are shares of the image.
    """
    folder = open_folder(location, CANDIDATES, is_box_table)
    tables, notes = _read_all(folder)
    images = [image for table in tables for image in table.images]
    bad_lines = [bad for table in tables for bad in table.bad_lines]
    if not images and not bad_lines:
        raise HoldfastError(f"{location} has no table with a row about an image.", fix=NEEDED)
    relative = are_relative(images)
    if relative:
        _refuse_relative_corner(location, tables)
        notes.append("All coordinates are within 0..1: they are taken as shares of the image.")
    notes += [note for table in tables for note in table.notes]
    listing = Listing(images, bad_lines, tuple(dict.fromkeys(notes)), relative)
    return build_source("csv", location, listing, folder.images(options.images))


def _read_all(folder: DataFolder) -> tuple[list[_File], list[str]]:
    """Read the tables; those that cannot be understood are left out, unless all of them are."""
    tables, notes = [], []
    trouble: HoldfastError | None = None
    for path in folder.annotations:
        try:
            tables.append(_read_table(path, folder.read(path)))
        except HoldfastError as error:
            trouble = trouble or HoldfastError(f"{path}: {error.message}", fix=error.fix)
            notes.append(f"{path} is left out: {error.message}")
    if trouble and not tables:
        raise trouble
    return tables, notes


def _read_table(path: str, content: bytes) -> _File:
    text = split_lines(content)
    table = find_table(text, find_columns)
    columns = find_columns(table.first_rows()) if table else None
    if table is None or columns is None:
        raise HoldfastError("It is not a table of boxes.", fix=NEEDED)
    reader = _TableReader(path, columns)
    for row in _data_rows(table, columns):
        reader.take(row)
    notes = [*encoding_notes(path, text), *reader.notes()]
    return _File(list(reader.images()), reader.bad_lines, notes, columns.kind)


def _data_rows(table: Table, columns: Columns) -> Iterator[TableRow]:
    """Yield the rows below the header; tables put together have it again in the middle."""
    rows = table.rows()
    header = next(rows).cells if columns.has_header else None
    for row in rows:
        if row.cells != header:
            yield row


class _TableReader:
    """Takes the rows of one table and gathers them by image."""

    def __init__(self, path: str, columns: Columns) -> None:
        self.path, self.columns = path, columns
        self.bad_lines: list[BadLine] = []
        self._split = named_split(path, by_name=True)
        self._first: dict[str, ListedImage] = {}  # without marks
        self._marks: dict[str, list[Mark]] = defaultdict(list)
        self._without_numbers: list[TableRow] = []
        self._without_class: list[TableRow] = []

    def take(self, row: TableRow) -> None:
        """Take a row: an object, an image without any, or a line that cannot be used."""
        extra = len(row.cells) - self.columns.num_columns
        name = _cell(row.cells, self.columns.image)
        split = self._split_of(row)
        if extra > 0 and any(map(str.strip, row.cells[-extra:])):
            reason = (
                f"It has {len(row.cells)} fields, not {self.columns.num_columns}: is one in quotes?"
            )
            self.bad_lines.append(BadLine(self.path, row.line, reason, split))
        elif not name:
            self.bad_lines.append(BadLine(self.path, row.line, "It names no image.", split))
        else:
            if name not in self._first:
                size = _size(row.cells, self.columns)
                self._first[name] = ListedImage(name, self.path, (), row.line, size, split)
            self._marks[name] += self._mark(row)

    def _split_of(self, row: TableRow) -> str | None:
        cell = _cell(row.cells, self.columns.split)
        return (named_split(f"{cell}/") if cell else None) or self._split

    def _mark(self, row: TableRow) -> list[Mark]:
        label = _cell(row.cells, self.columns.label)
        cells = [_cell(row.cells, column) for column in self.columns.box]
        if not label and not any(cells):
            return []
        values = [to_number(cell) for cell in cells]
        if not all(map(math.isfinite, values)):
            self._without_numbers.append(row)
        elif not label:
            self._without_class.append(row)
        return [
            Mark(
                label=label,
                box=_to_box(values, self.columns.kind),
                difficult=_is_set(_cell(row.cells, self.columns.difficult)),
                truncated=_is_set(_cell(row.cells, self.columns.truncated)),
            )
        ]

    def images(self) -> Iterator[ListedImage]:
        """Yield the images in the order of the table."""
        for name, image in self._first.items():
            yield image._replace(marks=tuple(self._marks[name]))

    def notes(self) -> Iterator[str]:
        """Name the rows that are left out when their image is read, for the line that it is."""
        for rows, what in (
            (self._without_numbers, "a coordinate is not a number"),
            (self._without_class, "no class"),
        ):
            if rows:
                first = f"as in line {rows[0].line} ({','.join(rows[0].cells)[:60]})"
                yield f"{self.path}: {count_text(len(rows), 'row')} left out, {what}: {first}."


def _cell(row: Row, column: int | None) -> str:
    """Give a cell without blanks around it; "" if the row or the table does not have it."""
    return row[column].strip() if column is not None and column < len(row) else ""


def _size(row: Row, columns: Columns) -> Size | None:
    if columns.width is None or columns.height is None:
        return None
    sides = (to_number(_cell(row, column)) for column in (columns.width, columns.height))
    return Size(*(int(side) if math.isfinite(side) else 0 for side in sides))


def _is_set(cell: str) -> bool:
    return cell.lower() in ("1", "true", "yes")


def _to_box(values: Sequence[float], kind: BoxKind) -> Box:
    x, y, third, fourth = values
    match kind:
        case BoxKind.CORNERS:
            return Box(y, x, fourth, third)
        case BoxKind.CORNER_AND_SIZE:
            return Box(y, x, y + fourth, x + third)
        case BoxKind.CENTER_AND_SIZE:
            return Box(y - fourth / 2, x - third / 2, y + fourth / 2, x + third / 2)


def _refuse_relative_corner(location: str, tables: Sequence[_File]) -> None:
    if any(table.kind is BoxKind.CORNER_AND_SIZE for table in tables):
        raise HoldfastError(
            f"{location}: x and y are shares of the image, and may be the corner or the center.",
            fix="Call them xmin and ymin with xmax and ymax, or x_center and y_center.",
        )
