"""Open Images: CSV files with a box a row, coordinates as shares of the image."""

from __future__ import annotations

import codecs
import io
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from holdfast.data.records import data_files
from holdfast.data.sources.annotated_objects import Box
from holdfast.data.sources.data_folder import DataFolder, open_folder
from holdfast.data.sources.listing import BadLine, ListedImage, Listing, Mark, build_source
from holdfast.data.sources.lookup import ImageFinder
from holdfast.data.sources.plain_text import (
    Line,
    encoding_notes,
    is_number,
    split_lines,
    to_number,
)
from holdfast.data.sources.sniff import HEAD_BYTES, head
from holdfast.data.sources.source import Source
from holdfast.data.sources.source_formats import DEFAULTS, OpenOptions, ending, source_format
from holdfast.data.sources.table_columns import simplify
from holdfast.data.sources.table_rows import Table, TableRow, find_table
from holdfast.data.splitting.split_names import named_split
from holdfast.errors import HoldfastError
from holdfast.units import count_text

_BOX = ("ymin", "xmin", "ymax", "xmax")
_NEEDED = ("imageid", "labelname", *_BOX)
_CLASS_ID = re.compile(r"/[a-z]/\w+")

Places = Mapping[str, int]  # column name, simplified -> number


class _Rows(NamedTuple):
    """What one file says about images that are there."""

    images: list[ListedImage]
    bad_lines: list[BadLine]
    notes: list[str]
    others: int  # images that are not there


def is_open_images(path: str) -> bool:
    """Tell whether a file is a table of boxes with the columns of Open Images."""
    return find_table(split_lines(head(path)), _find_places) is not None


@source_format(
    "open_images", title="Open Images CSV", candidates=ending(".csv"), is_one=is_open_images
)
def open_open_images(location: str, options: OpenOptions = DEFAULTS) -> Source:
    """Open a folder with boxes as Open Images gives them, or one such file.

    Names of classes are those of class-descriptions-boxable.csv, wherever it lies in the folder.
    The files mention all images of a split; it does not matter if some are missing.
    """
    folder = open_folder(location, ending(".csv"), is_open_images)
    finder = folder.images(options.images)
    names, notes = _class_names(folder)
    found = [_read(path, folder.read(path), finder, names) for path in folder.annotations]
    images = [image for rows in found for image in rows.images]
    if not images:
        raise HoldfastError(
            f"{location} has Open Images annotations, but none of an image that is there.",
            fix="Name the folder of the images with --images. A file is called by its ImageID.",
        )
    notes += [note for rows in found for note in rows.notes]
    if others := sum(rows.others for rows in found):
        notes.append(f"Not there: {count_text(others, 'image')} that the annotations mention.")
    bad_lines = [bad for rows in found for bad in rows.bad_lines]
    notes += _unnamed(images)
    listing = Listing(images, bad_lines, tuple(notes), relative=True)
    return build_source("open_images", location, listing, finder)


def _find_places(rows: Sequence[Sequence[str]]) -> Places | None:
    """Find the columns; None if the header is not that of Open Images."""
    places = {simplify(cell): number for number, cell in enumerate(rows[0])} if rows else {}
    return places if all(name in places for name in _NEEDED) else None


def _class_names(folder: DataFolder) -> tuple[dict[str, str], list[str]]:
    """Gather class id -> name from the tables of two columns that give it, and say what is odd."""
    names: dict[str, str] = {}
    notes = []
    others = set(ending(".csv")(folder.paths)) - set(folder.annotations)
    for path in sorted(others):
        if not _describes_classes(folder.path(path)):
            continue
        text = split_lines(folder.read(path))
        for row in Table(text.lines, ",").rows():
            if _CLASS_ID.fullmatch(row.cells[0].strip()) and len(row.cells) > 1:
                names.setdefault(row.cells[0].strip(), row.cells[1].strip())
        notes += encoding_notes(path, text)
    return names, notes


def _describes_classes(path: str) -> bool:
    rows = Table(split_lines(data_files.read_bytes(path, 4096)).lines[:3], ",").first_rows()
    return any(len(row) == 2 and _CLASS_ID.fullmatch(row[0].strip()) for row in rows)


def _read(path: str, content: bytes, finder: ImageFinder, names: Mapping[str, str]) -> _Rows:
    start = find_table(split_lines(content[:HEAD_BYTES]), _find_places)
    places = _find_places(start.first_rows()) if start else None
    if start is None or places is None:
        raise HoldfastError(f"{path} does not have the columns of Open Images' boxes.")
    lines, others = _lines_of_images(content, start.separator, places["imageid"], finder)
    split = named_split(path, by_name=True)
    gathered = _Gathered(path, places, names)
    for row in islice(Table(lines, start.separator).rows(), 1, None):
        gathered.take(row, split)
    notes = list(gathered.notes())
    return _Rows(list(gathered.images(split)), gathered.bad_lines, notes, others)


def _lines_of_images(
    content: bytes, separator: str, column: int, finder: ImageFinder
) -> tuple[list[Line], int]:
    """Give the header and the lines about images that are there, and how many images are not.

    The file of the training set has 14 million lines: nothing is made of those that do not matter.
    """
    lines: list[Line] = []
    others: set[str] = set()
    mark = separator.encode()
    for number, raw in enumerate(io.BytesIO(content.removeprefix(codecs.BOM_UTF8)), start=1):
        cells = raw.split(mark, column + 1)
        name = cells[column].strip(b' "\r\n').decode("utf-8", "replace") if cells[column:] else ""
        if not lines or not name or name in finder:
            lines.append(Line(number, raw.decode("utf-8", "replace")))
        else:
            others.add(name)
    return lines, len(others)


class _Gathered:
    """The rows of one file by image."""

    def __init__(self, path: str, places: Places, names: Mapping[str, str]) -> None:
        self.path, self.places, self.names = path, places, names
        self.bad_lines: list[BadLine] = []
        self._lines: dict[str, int] = {}
        self._marks: dict[str, list[Mark]] = defaultdict(list)
        self._without_numbers: list[int] = []

    def take(self, row: TableRow, split: str | None) -> None:
        """Take a row."""
        name = self._cell(row, "imageid")
        if not name:
            self.bad_lines.append(BadLine(self.path, row.line, "It names no image.", split))
        else:
            self._lines.setdefault(name, row.line)
            self._marks[name].append(self._mark(row))

    def images(self, split: str | None) -> Iterator[ListedImage]:
        """Yield the images in the order of the file."""
        for name, line in self._lines.items():
            yield ListedImage(name, self.path, tuple(self._marks[name]), line, split=split)

    def notes(self) -> Iterator[str]:
        """Name the rows that are left out when their image is read."""
        if lines := self._without_numbers:
            what = f"a coordinate is not a number, as in line {lines[0]}"
            yield f"{self.path}: {count_text(len(lines), 'row')} left out, {what}."

    def _mark(self, row: TableRow) -> Mark:
        cells = [self._cell(row, side) for side in _BOX]
        if not all(map(is_number, cells)):
            self._without_numbers.append(row.line)
        label = self._cell(row, "labelname")
        confidence = self._cell(row, "confidence")
        return Mark(
            label=self.names.get(label, label),
            box=Box(*map(to_number, cells)),
            truncated=self._cell(row, "istruncated") == "1",  # -1 is unknown
            group_of=self._cell(row, "isgroupof") == "1",
            confidence=to_number(confidence) if is_number(confidence) else 1.0,
        )

    def _cell(self, row: TableRow, name: str) -> str:
        place = self.places.get(name, len(row.cells))
        return row.cells[place].strip() if place < len(row.cells) else ""


def _unnamed(images: Sequence[ListedImage]) -> list[str]:
    labels = {mark.label for image in images for mark in image.marks}
    unnamed = sorted(label for label in labels if _CLASS_ID.fullmatch(label))
    if not unnamed:
        return []
    classes = count_text(len(unnamed), "class", "classes")
    where = "no class-descriptions-boxable.csv has a name"
    return [f"{classes} named by id, such as {unnamed[0]}: {where}."]
