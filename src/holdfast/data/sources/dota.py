"""DOTA text: rotated boxes of aerial images by their four corners, one file an image."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from holdfast.data.sources.annotated_objects import box_around
from holdfast.data.sources.data_folder import open_folder
from holdfast.data.sources.label_texts import read_texts, texts_of_images
from holdfast.data.sources.listing import ListedImage, Mark, build_source
from holdfast.data.sources.lookup import ImageFinder
from holdfast.data.sources.plain_text import is_number, split_lines
from holdfast.data.sources.sniff import head
from holdfast.data.sources.source import Source
from holdfast.data.sources.source_formats import DEFAULTS, OpenOptions, source_format
from holdfast.errors import HoldfastError
from holdfast.units import count_text

_HEADER = re.compile(r"\s*'?(imagesource|gsd)'?\s*:", re.IGNORECASE)
_CORNERS = 8  # numbers: x, y of four
_LINES_LOOKED_AT = 5


def is_dota(path: str) -> bool:
    """Tell whether a text file has DOTA's header, or a line of eight numbers and a class."""
    lines = [line.text for line in split_lines(head(path)).lines[:_LINES_LOOKED_AT]]
    if lines and _HEADER.match(lines[0]):
        return True
    return any(_is_object(line) for line in lines)


@source_format("dota", title="DOTA text", candidates=texts_of_images, is_one=is_dota)
def open_dota(location: str, options: OpenOptions = DEFAULTS) -> Source:
    """Open a folder of DOTA's text files; a rotated box becomes the upright box around it."""
    folder = open_folder(location, texts_of_images, is_dota)
    if not folder.annotations:
        raise HoldfastError(f"{location} has no DOTA annotations (text files).")
    rotated: list[bool] = []

    def parse(line: str) -> Mark | None:
        if _HEADER.match(line):
            return None
        mark, is_rotated = parse_object(line)
        rotated.append(is_rotated)
        return mark

    listing = read_texts(folder, parse)
    finder = folder.images(options.images)
    _refuse_versions(listing.images, finder)
    boxes = count_text(sum(rotated), "rotated box", "rotated boxes")
    note = f"{boxes} of {len(rotated)}: upright boxes around them are used instead."
    notes = [note] if any(rotated) else []
    return build_source("dota", location, listing._replace(notes=(*notes, *listing.notes)), finder)


def parse_object(line: str) -> tuple[Mark, bool]:
    """Read `x1 y1 x2 y2 x3 y3 x4 y4 class difficult`, and tell whether the box is rotated.

    ValueError if it is something else. The last number may be missing.

    >>> parse_object("1 2 5 2 5 9 1 9 small-vehicle 0")[0].box
    Box(y_min=2.0, x_min=1.0, y_max=9.0, x_max=5.0)
    """
    words = re.split(r"[\s,]+", line.strip(" \t,"))
    points = np.array(words[:_CORNERS], np.float64).reshape(4, 2)
    *label, last = words[_CORNERS:] if len(words) > _CORNERS else [""]
    if not label or not is_number(last):
        label, last = [*label, last], "0"
    if not "".join(label):
        raise ValueError("no class")
    mark = Mark(" ".join(label), box_around(points), difficult=float(last) > 0)
    return mark, not _is_upright(points.tolist())


def _is_upright(points: Sequence[Sequence[float]]) -> bool:
    columns, rows = {x for x, _ in points}, {y for _, y in points}
    return len(columns) <= 2 and len(rows) <= 2


def _is_object(line: str) -> bool:
    words = re.split(r"[\s,]+", line.strip(" \t,"))
    named = len(words) > _CORNERS and not is_number(words[_CORNERS])
    return named and all(map(is_number, words[:_CORNERS]))


def _refuse_versions(images: Sequence[ListedImage], finder: ImageFinder) -> None:
    """Two files about one image are two versions of the labels, such as v1.0 and v1.5."""
    files_of: dict[str, list[str]] = defaultdict(list)
    for image in images:
        if path := finder.find_or_none(image.name, image.annotation):
            files_of[path].append(image.annotation)
    for path, found in files_of.items():
        if len(found) > 1:
            raise HoldfastError(
                f"{found[0]} and {found[1]} both annotate the image {path}.",
                fix="Give the folder of the labels you mean, and that of the images by --images.",
            )
