"""Annotations that are lists of boxes, image by image: from what they say to a Source."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from holdfast.data.sources.annotated_objects import (
    Box,
    LabeledObject,
    build_sample,
    relative_areas,
)
from holdfast.data.sources.classes import build_classes, sorted_names
from holdfast.data.sources.image_files import NO_SIZE, Size, take_picture
from holdfast.data.sources.lookup import ImageFinder
from holdfast.data.sources.source import Entry, Reading, Source, shortest_names
from holdfast.data.splitting.split_names import SPLITS, named_split
from holdfast.errors import HoldfastError
from holdfast.units import count_text

_NO_CLASS = -1  # the checks leave such a box out, count it and name its image


class Mark(NamedTuple):
    """One object as its line gives it."""

    label: str  # "" if the line names no class
    box: Box  # in pixels, or as shares of the image; NaN where there is no number
    difficult: bool = False
    truncated: bool = False
    group_of: bool = False
    confidence: float = 1.0


class ListedImage(NamedTuple):
    """An image and its objects as one annotation file gives them."""

    name: str  # as the file calls the image
    annotation: str  # the file
    marks: tuple[Mark, ...]
    line: int | None = None  # where the file speaks of it first; None if it does of nothing else
    size: Size | None = None  # None if the format does not give it
    split: str | None = None

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return place_of(self.annotation, self.line)


class BadLine(NamedTuple):
    """A line that does not say which image it is about."""

    annotation: str
    line: int
    reason: str
    split: str | None = None


class Listing(NamedTuple):
    """All that the annotation files of a data set say."""

    images: Sequence[ListedImage]
    bad_lines: Sequence[BadLine] = ()
    notes: tuple[str, ...] = ()
    relative: bool = False  # boxes are shares of the image, not pixels
    copies: frozenset[str] = frozenset()  # images of which another copy is read


class _Reader(NamedTuple):
    """What reading one image needs to know about the whole data set."""

    finder: ImageFinder
    class_of: Mapping[str, int]  # name -> class, 0-based
    relative: bool


def place_of(annotation: str, line: int | None) -> str:
    """Name a line of a file, or the file.

    >>> place_of("all.csv", 7), place_of("1.txt", None)
    ('all.csv, line 7', '1.txt')
    """
    return annotation if line is None else f"{annotation}, line {line}"


def are_relative(images: Iterable[ListedImage]) -> bool:
    """Tell whether no coordinate leaves 0..1: in pixels, all boxes would be in one corner."""
    values = [value for image in images for mark in image.marks for value in mark.box]
    finite = [value for value in values if math.isfinite(value)]
    return any(finite) and all(0 <= value <= 1 for value in finite)


def build_source(name: str, location: str, listing: Listing, finder: ImageFinder) -> Source:
    """Make the Source of a format called `name`; classes are numbered by the alphabet.

    What several files or lines say about one image is put together. Objects that are the same in
    everything count once, and an image of two splits belongs to the first of train, val, test.
    """
    found = [finder.find_or_none(image.name, image.annotation) for image in listing.images]
    merged = _merge(listing.images, found)
    images = [image for image, _ in merged]
    labels = {mark.label for image in images for mark in image.marks if mark.label}
    classes = build_classes(sorted_names(labels))
    class_of = {item.name: item.id - 1 for item in classes.label_map.item}
    reader = _Reader(finder, class_of, listing.relative)
    return Source(
        format=name,
        location=location,
        label_map=classes.label_map,
        entries=(*_entries(reader, merged), *map(_refusing, listing.bad_lines)),
        notes=(
            *listing.notes,
            *_repeat_notes(listing.images, images),
            *_split_notes(listing.images, found),
            *_alone_notes(finder, {path for path in found if path} | listing.copies),
        ),
    )


def _merge(
    images: Sequence[ListedImage], found: Sequence[str | None]
) -> list[tuple[ListedImage, str | None]]:
    """Put together what is about one image file; of files that are not there, about one name."""
    groups: dict[tuple[str, ...], list[ListedImage]] = {}
    paths: dict[tuple[str, ...], str | None] = {}
    for image, path in zip(images, found, strict=True):
        key = (path,) if path else (image.name, image.split or "")
        groups.setdefault(key, []).append(image)
        paths[key] = path
    return [(_join(group), paths[key]) for key, group in groups.items()]


def _join(group: Sequence[ListedImage]) -> ListedImage:
    splits = [image.split for image in group if image.split]
    sizes = [image.size for image in group if image.size is not None]
    return group[0]._replace(
        marks=tuple(_distinct([mark for image in group for mark in image.marks])),
        size=next((size for size in sizes if min(size) > 0), sizes[0] if sizes else None),
        split=min(splits, key=SPLITS.index) if splits else None,
    )


def _distinct(marks: Iterable[Mark]) -> Iterator[Mark]:
    """Give each mark once; those without numbers are all kept, so that each is counted."""
    seen: set[Mark] = set()
    for mark in marks:
        if mark not in seen or any(map(math.isnan, mark.box)):
            yield mark
        seen.add(mark)


def _entries(reader: _Reader, merged: Sequence[tuple[ListedImage, str | None]]) -> Iterator[Entry]:
    source_ids = shortest_names([path or image.name for image, path in merged])
    for (image, path), source_id in zip(merged, source_ids, strict=True):
        marked = (reader.class_of[mark.label] for mark in image.marks if mark.label)
        yield Entry(
            source_id=source_id,
            place=image.place,
            filename=source_id.rpartition("/")[2],
            read=partial(_read, reader, image, source_id),
            split=image.split or (named_split(path) if path else None),
            class_counts=Counter(marked),
            box_areas=_areas(image, reader.relative),
            fingerprint=_fingerprint(image, reader.relative),
            image_path=reader.finder.path(path) if path else "",
        )


def _areas(image: ListedImage, relative: bool) -> tuple[float, ...]:
    size = Size(1, 1) if relative else image.size
    return relative_areas((mark.box for mark in image.marks), size or NO_SIZE)


def _fingerprint(image: ListedImage, relative: bool) -> str:
    said = (image.size, image.marks, relative)
    return hashlib.sha256(repr(said).encode("utf-8", "surrogatepass")).hexdigest()


def _read(reader: _Reader, image: ListedImage, source_id: str) -> Reading:
    picture = take_picture(reader.finder.read(image.name, image.annotation), image.size)
    scale = picture.size if reader.relative else Size(1, 1)
    objects = [_to_object(mark, reader.class_of, scale) for mark in image.marks]
    return Reading(build_sample(source_id, picture, objects), picture.remarks)


def _to_object(mark: Mark, class_of: Mapping[str, int], scale: Size) -> LabeledObject:
    y_min, x_min, y_max, x_max = mark.box
    width, height = scale
    return LabeledObject(
        class_index=class_of[mark.label] if mark.label else _NO_CLASS,
        box=Box(y_min * height, x_min * width, y_max * height, x_max * width),
        difficult=mark.difficult,
        truncated=mark.truncated,
        group_of=mark.group_of,
        confidence=mark.confidence,
    )


def _refusing(bad: BadLine) -> Entry:
    """Make an entry for a line that nothing can be made of: it fails with the reason."""
    place = place_of(bad.annotation, bad.line)

    def refuse() -> Reading:
        raise HoldfastError(bad.reason)

    return Entry(source_id=place, place=place, filename="", read=refuse, split=bad.split)


def _repeat_notes(listed: Iterable[ListedImage], merged: Iterable[ListedImage]) -> list[str]:
    """Say how many objects are listed more than once."""
    repeated = sum(len(image.marks) for image in listed) - sum(len(image.marks) for image in merged)
    if not repeated:
        return []
    objects = count_text(repeated, "repeated object")
    return [f"{objects} left out: another line gives the same image, box and class."]


def _split_notes(images: Sequence[ListedImage], found: Sequence[str | None]) -> list[str]:
    splits: dict[str, set[str]] = {}
    for image, path in zip(images, found, strict=True):
        if path and image.split:
            splits.setdefault(path, set()).add(image.split)
    twice = [path for path, names in splits.items() if len(names) > 1]
    if not twice:
        return []
    images_text = count_text(len(twice), "image")
    first = f"such as {twice[0]}: the first of train, val, test counts"
    return [f"{images_text} in several splits, {first}."]


def _alone_notes(finder: ImageFinder, known: set[str]) -> list[str]:
    """Say how many images lie beside the annotated ones without being annotated."""
    folders = {path.rpartition("/")[0] for path in known}
    alone = [
        path for path in finder.paths if path not in known and path.rpartition("/")[0] in folders
    ]
    if not alone:
        return []
    return [f"{count_text(len(alone), 'image')} not annotated and left out, such as {alone[0]}."]
