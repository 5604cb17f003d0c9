"""Text files with an object a line, one file an image."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Callable

from holdfast.data.sources.annotated_objects import Box
from holdfast.data.sources.data_folder import DataFolder
from holdfast.data.sources.listing import ListedImage, Listing, Mark, are_relative, place_of
from holdfast.data.sources.lookup import is_image, stem
from holdfast.data.sources.plain_text import PlainText, encoding_notes, split_lines
from holdfast.data.sources.source_formats import Paths, ending
from holdfast.data.splitting.split_names import named_split
from holdfast.errors import HoldfastError
from holdfast.units import count_text

# Gives the object of a line; raises ValueError if it cannot be understood, None: it is not one.
ParseLine = Callable[[str], Mark | None]

_WITHOUT_NUMBERS = Mark("", Box(math.nan, math.nan, math.nan, math.nan))


def texts_of_images(paths: Paths) -> list[str]:
    """Keep the text files called like an image; all of them where there are no images at all."""
    images = {stem(path) for path in paths if is_image(path)}
    return [path for path in ending(".txt")(paths) if not images or stem(path) in images]


def with_empty_ones(folder: DataFolder) -> list[str]:
    """Give the annotations with the empty files that lie among them: images without objects."""
    places = {posixpath.dirname(path) for path in folder.annotations}
    known = set(folder.annotations)
    return [
        path
        for path in texts_of_images(folder.paths)
        if path in known or (posixpath.dirname(path) in places and not folder.read(path).strip())
    ]


def read_texts(folder: DataFolder, parse: ParseLine) -> Listing:
    """Read all files. A line that cannot be understood stays as a box without numbers.

    So the checks leave it out, count it and name its file; a note names the line.
    """
    images, notes, bad = [], [], []
    for path in with_empty_ones(folder):
        text = split_lines(folder.read(path))
        marks, bad_lines = _read(path, text, parse)
        images.append(ListedImage(stem(path), path, tuple(marks), split=named_split(path)))
        notes += encoding_notes(path, text)
        bad += bad_lines
    if are_relative(images):
        raise HoldfastError(
            f"{images[0].annotation}: coordinates are all within 0..1, and not pixels.",
            fix="If this is YOLO's text with names of classes: it has their numbers, from 0 on.",
        )
    if bad:
        lines = count_text(len(bad), "line")
        notes.append(f"{lines} left out that cannot be read, such as {bad[0]}.")
    return Listing(images, notes=tuple(notes))


def _read(path: str, text: PlainText, parse: ParseLine) -> tuple[list[Mark], list[str]]:
    marks, bad_lines = [], []
    for number, line in text.lines:
        try:
            mark = parse(line)
        except ValueError:
            mark = _WITHOUT_NUMBERS
            bad_lines.append(f"{place_of(path, number)} ({line.strip()[:60]!r})")
        if mark is not None:
            marks.append(mark)
    return marks, bad_lines
