"""KITTI text: a line an object, the box among numbers about the object in space."""

from __future__ import annotations

from holdfast.data.sources.annotated_objects import Box
from holdfast.data.sources.data_folder import open_folder
from holdfast.data.sources.label_texts import read_texts, texts_of_images
from holdfast.data.sources.listing import Mark, build_source
from holdfast.data.sources.plain_text import is_number, split_lines
from holdfast.data.sources.sniff import head
from holdfast.data.sources.source import Source
from holdfast.data.sources.source_formats import DEFAULTS, OpenOptions, source_format
from holdfast.errors import HoldfastError
from holdfast.units import count_text

# truncated, occluded, alpha, the box, three sizes, a place, a rotation; perhaps a score.
_NUMBERS = (14, 15)
_IGNORED = "dontcare"  # a region whose objects nobody labeled


def is_kitti(path: str) -> bool:
    """Tell whether the first line of a text file is a class and the numbers of KITTI."""
    try:
        return bool([parse_object(line.text) for line in split_lines(head(path)).lines[:1]])
    except ValueError:
        return False


@source_format("kitti", title="KITTI text", candidates=texts_of_images, is_one=is_kitti)
def open_kitti(location: str, options: OpenOptions = DEFAULTS) -> Source:
    """Open a folder of KITTI's labels (label_2 beside image_2); DontCare is not a class."""
    folder = open_folder(location, texts_of_images, is_kitti)
    if not folder.annotations:
        raise HoldfastError(f"{location} has no KITTI annotations (text files).")
    ignored = 0

    def parse(line: str) -> Mark | None:
        nonlocal ignored
        mark = parse_object(line)
        if mark.label.lower() != _IGNORED:
            return mark
        ignored += 1
        return None

    listing = read_texts(folder, parse)
    if ignored:
        note = f"{count_text(ignored, 'region')} of DontCare left out."
        listing = listing._replace(notes=(note, *listing.notes))
    return build_source("kitti", location, listing, folder.images(options.images))


def parse_object(line: str) -> Mark:
    """Read `class truncated occluded alpha left top right bottom …`; ValueError if it is not that.

    >>> parse_object("Car 0.5 0 -1.57 10 5 30 20 2.85 2.63 12.34 0.47 1.49 69.44 -1.56").box
    Box(y_min=5.0, x_min=10.0, y_max=20.0, x_max=30.0)
    """
    words = line.split()
    first = next((place for place, word in enumerate(words) if is_number(word)), 0)
    name, numbers = words[:first], [float(word) for word in words[first:]]
    if not name or len(numbers) not in _NUMBERS:
        raise ValueError("not a class and 14 or 15 numbers")
    truncated, _, _, left, top, right, bottom = numbers[:7]
    return Mark(" ".join(name), Box(top, left, bottom, right), truncated=truncated > 0)
