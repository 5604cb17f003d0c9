"""From what a labeling tool exported about its images to a source."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from holdfast.data.records import data_files
from holdfast.data.sources.annotated_objects import build_sample
from holdfast.data.sources.classes import build_classes, sorted_names, union
from holdfast.data.sources.drawings import Drawing
from holdfast.data.sources.image_files import Size, take_picture
from holdfast.data.sources.lookup import ImageFinder, is_image
from holdfast.data.sources.source import Entry, Reading, Source, shortest_names
from holdfast.data.splitting.split_names import named_split
from holdfast.errors import HoldfastError


@dataclass(frozen=True, kw_only=True)
class DrawnImage:
    """An image and what was drawn on it."""

    names: tuple[str, ...]  # what its file may be called, best first
    annotation: str  # the file that speaks of it
    place: str  # for messages: the annotation file, and where in it
    drawings: tuple[Drawing, ...] = ()
    size: Size | None = None  # as the annotation gives it; None: its format gives none
    unit: Size | None = None  # how far the drawings' coordinates go; None: they are pixels
    split: str | None = None
    fingerprint: str = ""
    problem: HoldfastError | None = None  # why it cannot be read


@dataclass(frozen=True, kw_only=True)
class Export:
    """All that the files of a data set say, before its images are looked for."""

    images: tuple[DrawnImage, ...]
    listed: tuple[str, ...] = ()  # classes in the tool's own order, used or not
    left_out: Mapping[str, int] = field(default_factory=dict)  # what is not read -> how often
    notes: tuple[str, ...] = ()


class _Found(NamedTuple):
    """An image and the path of its file; None if that cannot be decided."""

    image: DrawnImage
    path: str | None


class _Reader(NamedTuple):
    """What reading one image needs to know about the whole data set."""

    finder: ImageFinder
    class_of: Mapping[str, int]  # name -> class, 0-based
    masks: bool


def build_source(
    export: Export, finder: ImageFinder, *, form: str, location: str, masks: bool
) -> Source:
    """Make a source of an export.

    Classes are numbered as the tool lists them, those that it does not list behind them by the
    alphabet. The data has masks if any object is drawn more closely than by a box. What several
    parts of an export say about one image is put together.
    """
    images, merged = _merge(_find_all(export.images, finder))
    drawings = [drawing for image, _ in images for drawing in image.drawings]
    others = sorted_names({drawing.label for drawing in drawings} - set(export.listed)).values()
    classes = build_classes(dict(enumerate((*union([export.listed]), *others), start=1)))
    class_of = {item.name: item.id - 1 for item in classes.label_map.item}
    follows = any(drawing.follows for drawing in drawings)
    reader = _Reader(finder, class_of, masks and follows)
    return Source(
        format=form,
        location=location,
        label_map=classes.label_map,
        entries=tuple(_entries(reader, images)),
        masks=reader.masks,
        notes=(*export.notes, *_notes(export, drawings, merged)),
    )


def split_called(name: str | None) -> str | None:
    """Tell which split a tool's own word for it means; None if it is not one.

    >>> split_called("Validation"), split_called("default"), split_called(None)
    ('val', None, None)
    """
    return named_split(f"{name}/") if name else None


def _find_all(images: Iterable[DrawnImage], finder: ImageFinder) -> list[_Found]:
    """Find the images' files; an image whose own file is gone does not get another's.

    Names count without their ending, as images are converted: if 1.png is gone, 1.jpg is taken
    for it, unless 1.jpg has an annotation of its own.
    """
    found = [_Found(image, _find_or_none(finder, image)) for image in images]
    owned = {path for image, path in found if path and _base(path) in _bases(image)}
    return [
        _Found(replace(image, problem=_taken(image, path)), None)
        if path and path in owned and not _may_be(image, path)
        else _Found(image, path)
        for image, path in found
    ]


def _may_be(image: DrawnImage, path: str) -> bool:
    """Tell whether a file has one of the names of an image; one without ending fits any."""
    return any(base == _base(path) or not is_image(base) for base in _bases(image))


def _bases(image: DrawnImage) -> list[str]:
    return [_base(name) for name in image.names]


def _taken(image: DrawnImage, path: str) -> HoldfastError:
    return HoldfastError(f"Its image {image.names[0]!r} was not found: {path} is another one.")


def _base(path: str) -> str:
    return posixpath.basename(path.replace("\\", "/"))


def _merge(images: Sequence[_Found]) -> tuple[list[_Found], list[str]]:
    """Put together what is said about the same image file; name those where that was needed."""
    kept: dict[str, _Found] = {}
    merged: dict[str, str] = {}
    for image, path in images:
        folder = posixpath.dirname(image.annotation)
        key = path or f"missing {folder}/{image.names[0]}"
        if key in kept:
            merged[key] = image.names[0]
            image = _join(kept[key].image, image)
        kept[key] = _Found(image, path)
    return list(kept.values()), list(merged.values())


def _join(first: DrawnImage, second: DrawnImage) -> DrawnImage:
    """Add what the second says about an image and the first does not."""
    new = tuple(drawing for drawing in second.drawings if not _has(first.drawings, drawing))
    return replace(
        first,
        drawings=first.drawings + new,
        fingerprint=first.fingerprint + second.fingerprint,
        split=first.split or second.split,
        problem=first.problem or second.problem,
    )


def _has(drawings: Sequence[Drawing], drawing: Drawing) -> bool:
    return any(one.label == drawing.label and one.box == drawing.box for one in drawings)


def _notes(export: Export, drawings: Sequence[Drawing], merged: Sequence[str]) -> Iterator[str]:
    if rotated := sum(drawing.rotated for drawing in drawings):
        yield f"Rotated boxes: {rotated}. The upright box around each is used."
    for what, count in export.left_out.items():
        yield f"{what}: {count}, left out."
    if merged:
        yield (
            f"Images described more than once: {len(merged)}, such as {merged[0]}. "
            "Their objects are put together."
        )


def _entries(reader: _Reader, images: Sequence[_Found]) -> Iterator[Entry]:
    called = [path or image.names[0] for image, path in images]
    for (image, path), source_id in zip(images, shortest_names(called), strict=True):
        yield Entry(
            source_id=source_id,
            place=image.place,
            filename=posixpath.basename(source_id),
            read=partial(_read, reader, image, source_id),
            split=image.split or named_split(path or ""),
            class_counts=Counter(reader.class_of[drawing.label] for drawing in image.drawings),
            fingerprint=image.fingerprint,
            image_path=reader.finder.path(path) if path else "",
        )


def _read(reader: _Reader, image: DrawnImage, source_id: str) -> Reading:
    if image.problem:
        raise image.problem
    encoded = data_files.read_bytes(reader.finder.path(_find(reader.finder, image)))
    picture = take_picture(encoded, image.size)
    drawings = image.drawings
    if image.unit:
        across = picture.size.width / image.unit.width
        down = picture.size.height / image.unit.height
        drawings = tuple(drawing.scaled(across, down) for drawing in drawings)
    objects = [
        drawing.to_object(reader.class_of[drawing.label], masks=reader.masks)
        for drawing in drawings
    ]
    return Reading(build_sample(source_id, picture, objects, masks=reader.masks), picture.remarks)


def _find(finder: ImageFinder, image: DrawnImage) -> str:
    known = [name for name in image.names if name in finder]
    return finder.find(known[0] if known else image.names[0], image.annotation)


def _find_or_none(finder: ImageFinder, image: DrawnImage) -> str | None:
    try:
        return _find(finder, image)
    except HoldfastError:
        return None
