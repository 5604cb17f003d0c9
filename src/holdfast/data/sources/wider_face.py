"""WIDER Face text: one file for all images, each with the number of its faces and their boxes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from holdfast.data.sources.annotated_objects import Box
from holdfast.data.sources.data_folder import open_folder
from holdfast.data.sources.listing import ListedImage, Listing, Mark, build_source, place_of
from holdfast.data.sources.lookup import is_image
from holdfast.data.sources.plain_text import (
    Line,
    encoding_notes,
    is_number,
    split_lines,
    to_number,
)
from holdfast.data.sources.sniff import head
from holdfast.data.sources.source import Source
from holdfast.data.sources.source_formats import DEFAULTS, OpenOptions, ending, source_format
from holdfast.data.splitting.split_names import named_split
from holdfast.errors import HoldfastError
from holdfast.units import count_text

_CLASS = "face"
_INVALID = 7  # the column that says that a face is not one to be found


def is_wider_face(path: str) -> bool:
    """Tell whether a text file starts with an image, a number, and a line of numbers."""
    lines = [line.text.strip() for line in split_lines(head(path)).lines[:3]]
    if len(lines) < 3 or not is_image(lines[0]) or not lines[1].isdigit():
        return False
    return len(lines[2].split()) >= 4 and all(map(is_number, lines[2].split()))


@source_format(
    "wider_face", title="WIDER Face text", candidates=ending(".txt"), is_one=is_wider_face
)
def open_wider_face(location: str, options: OpenOptions = DEFAULTS) -> Source:
    """Open the lists of WIDER Face; the one class is called face, and invalid faces difficult."""
    folder = open_folder(location, ending(".txt"), is_wider_face)
    if not folder.annotations:
        raise HoldfastError(f"{location} has no WIDER Face annotations (text files).")
    images, notes = [], []
    for path in folder.annotations:
        text = split_lines(folder.read(path))
        bad: list[str] = []
        images += list(_images(path, text.lines, bad))
        notes += encoding_notes(path, text)
        if bad:
            lines = count_text(len(bad), "line")
            notes.append(f"{lines} left out that cannot be read, such as {bad[0]}.")
    listing = Listing(images, notes=tuple(notes))
    return build_source("wider_face", location, listing, folder.images(options.images))


def _images(path: str, lines: Sequence[Line], bad: list[str]) -> Iterator[ListedImage]:
    """Yield what is said about each image: its name, a number, then lines up to the next name."""
    split = named_split(path, by_name=True)
    starts = [place for place, line in enumerate(lines) if is_image(line.text.strip())]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        name, boxes = lines[start].text.strip(), lines[start + 1 : end]
        marks = [_mark(path, line, bad) for line in boxes[1:]] if _count(boxes) else []
        yield ListedImage(name, path, tuple(marks), lines[start].number, split=split)


def _count(boxes: Sequence[Line]) -> float:
    """Give the number of faces: an image without any has a line of zeros all the same."""
    return to_number(boxes[0].text) if boxes else 0


def _mark(path: str, line: Line, bad: list[str]) -> Mark:
    values = [to_number(word) for word in line.text.split()]
    if len(values) < 4 or not all(map(math.isfinite, values[:4])):
        bad.append(f"{place_of(path, line.number)} ({line.text.strip()[:60]!r})")
        values = [math.nan] * 4
    left, top, width, height = values[:4]
    invalid = len(values) > _INVALID and values[_INVALID] == 1
    return Mark(_CLASS, Box(top, left, top + height, left + width), difficult=invalid)
