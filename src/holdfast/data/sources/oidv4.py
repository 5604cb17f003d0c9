"""Text files of the OIDv4 toolkit: a folder a class, `Label/<image>.txt` beside its images."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from holdfast.data.records import data_files
from holdfast.data.sources.annotated_objects import Box
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


def is_oidv4(path: str) -> bool:
    """Tell whether the first line of a text file is a name and four numbers."""
    try:
        return bool([parse_object(line.text) for line in split_lines(head(path)).lines[:1]])
    except ValueError:
        return False


@source_format("oidv4", title="OIDv4 text", candidates=texts_of_images, is_one=is_oidv4)
def open_oidv4(location: str, options: OpenOptions = DEFAULTS) -> Source:
    """Open a folder as the OIDv4 toolkit makes it: lines of `class left top right bottom`.

    An image with objects of two classes lies in the folders of both, each time with the boxes of
    one: such copies are put together, so that no object of the image is missing.
    """
    folder = open_folder(location, texts_of_images, is_oidv4)
    if not folder.annotations:
        raise HoldfastError(f"{location} has no OIDv4 annotations (text files).")
    listing = read_texts(folder, parse_object)
    finder = folder.images(options.images)
    images, copies = _join_copies(listing.images, finder)
    notes = list(listing.notes)
    if copies:
        copied = count_text(len(copies), "copy", "copies")
        notes.append(f"{copied} of images in folders of other classes: their boxes are joined.")
    listing = listing._replace(images=images, notes=tuple(notes), copies=frozenset(copies))
    return build_source("oidv4", location, listing, finder)


def parse_object(line: str) -> Mark:
    """Read `Class name left top right bottom`; ValueError if it is something else.

    >>> parse_object("Alarm clock 1.5 2 30 40").label
    'Alarm clock'
    """
    words = line.split()
    difficult = words[-1:] == ["difficult"]  # as ground truth for scoring scripts has it
    *name, left, top, right, bottom = words[:-1] if difficult else words
    # Lines with more numbers are of another format, such as KITTI.
    if not name or is_number(name[-1]):
        raise ValueError("not a name and four numbers")
    box = Box(*map(float, (top, left, bottom, right)))
    return Mark(" ".join(name), box, difficult=difficult)


def _join_copies(
    images: Sequence[ListedImage], finder: ImageFinder
) -> tuple[list[ListedImage], list[str]]:
    """Let annotations of equal images speak of the first of them; give the other copies too."""
    repeated = {
        name for name, count in Counter(image.name for image in images).items() if count > 1
    }
    first: dict[tuple[str, str], str] = {}
    joined, copies = [], []
    for image in images:
        path = finder.find_or_none(image.name, image.annotation) if image.name in repeated else None
        if path is not None:
            digest = hashlib.sha256(data_files.read_bytes(finder.path(path))).hexdigest()
            kept = first.setdefault((image.name, digest), path)
            copies += [path] if kept != path else []
            image = image._replace(name=kept)
        joined.append(image)
    return joined, copies
