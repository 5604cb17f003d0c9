"""Pascal VOC XML: one file an image, and the lists of ImageSets/Main."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple
from xml.etree import ElementTree

from holdfast.data.records import data_files
from holdfast.data.sources.annotated_objects import (
    Box,
    LabeledObject,
    build_sample,
    relative_areas,
)
from holdfast.data.sources.classes import build_classes, sorted_names
from holdfast.data.sources.data_folder import DataFolder, open_folder
from holdfast.data.sources.image_files import NO_SIZE, Size, take_picture
from holdfast.data.sources.lookup import ImageFinder, stem
from holdfast.data.sources.sniff import head, is_voc, xml_root
from holdfast.data.sources.source import Entry, Reading, Source, shortest_names
from holdfast.data.sources.source_formats import DEFAULTS, OpenOptions, ending, source_format
from holdfast.data.sources.voc_lists import VocLists, read_lists
from holdfast.data.splitting.split_names import conflict_notes, split_of_files
from holdfast.errors import HoldfastError
from holdfast.units import count_text


class VocObject(NamedTuple):
    """An object as its file gives it."""

    name: str
    box: Box
    difficult: bool
    truncated: bool


class VocAnnotation(NamedTuple):
    """The content of an XML file that training needs."""

    filename: str  # "" if the file does not say
    size: Size
    objects: tuple[VocObject, ...]


class _Reader(NamedTuple):
    """What reading one image needs to know about the whole data set."""

    root: str
    finder: ImageFinder
    class_of: Mapping[str, int]  # name -> class, 0-based


class _File(NamedTuple):
    """An XML file, looked at once."""

    path: str
    annotation: VocAnnotation | None  # None if it cannot be read
    image: str | None  # the path of its image, if it is there
    fingerprint: str


@source_format("voc", title="Pascal VOC XML", candidates=ending(".xml"), is_one=is_voc)
def open_voc(location: str, options: OpenOptions = DEFAULTS) -> Source:
    """Open a folder of Pascal VOC XML files; classes are numbered by the alphabet.

    Coordinates are divided by the image's size as they are written, as the OD API does. An image
    is called by its file name. Images that no XML file speaks of are not part of the data.
    """
    folder = open_folder(location, ending(".xml"), is_voc)
    finder = folder.images(options.images)
    # Of a single file, the others and what lists say about them does not matter.
    whole = data_files.is_folder(location)
    paths = sorted([*folder.annotations, *(_damaged(folder, finder) if whole else [])])
    annotated = [_look(folder.root, path, finder) for path in paths]
    if not annotated:
        raise HoldfastError(f"{location} has no Pascal VOC annotations (XML files).")
    names = {item.name for file in annotated if file.annotation for item in file.annotation.objects}
    classes = build_classes(sorted_names(names))
    class_of = {item.name: item.id - 1 for item in classes.label_map.item}
    reader = _Reader(folder.root, finder, class_of)
    lists = read_lists(location, folder.paths) if whole else VocLists({})
    return Source(
        format="voc",
        location=location,
        label_map=classes.label_map,
        entries=(*_entries(reader, annotated, lists), *_missing(annotated, lists)),
        notes=(
            *lists.notes,
            *([] if lists.splits else conflict_notes((one.image, one.path) for one in annotated)),
            *_unlabeled(finder, annotated),
        ),
    )


def parse_annotation(content: bytes) -> VocAnnotation:
    """Read an XML file's content; HoldfastError says what is wrong with it."""
    try:
        tree = ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        raise HoldfastError(f"It is not valid XML: {error}.") from None
    size = tree.find("size")
    return VocAnnotation(
        filename=(tree.findtext("filename") or "").strip(),
        size=NO_SIZE if size is None else Size(_whole(size, "width"), _whole(size, "height")),
        objects=tuple(_parse_object(item) for item in tree.findall("object")),
    )


def _parse_object(item: ElementTree.Element) -> VocObject:
    name = (item.findtext("name") or "").strip()
    if not name:
        raise HoldfastError("An object has no name.")
    corners = ("ymin", "xmin", "ymax", "xmax")
    return VocObject(
        name=name,
        box=Box(*(_number(item, f"bndbox/{corner}") for corner in corners)),
        difficult=_whole(item, "difficult") == 1,
        truncated=_whole(item, "truncated") == 1,
    )


def _number(item: ElementTree.Element, path: str) -> float:
    """Give a number of the file; NaN where there is none, for the checks to find."""
    try:
        return float(item.findtext(path) or "nan")
    except ValueError:
        return math.nan


def _whole(item: ElementTree.Element, path: str) -> int:
    number = _number(item, path)
    return int(number) if math.isfinite(number) else 0


def _damaged(folder: DataFolder, finder: ImageFinder) -> list[str]:
    """Give the XML files of images that hold no XML at all: something happened to them."""
    others = set(ending(".xml")(folder.paths)) - set(folder.annotations)
    return [path for path in others if path in finder and not xml_root(head(folder.path(path)))]


def _look(root: str, path: str, finder: ImageFinder) -> _File:
    content = data_files.read_bytes(data_files.join(root, path))
    fingerprint = hashlib.sha256(content).hexdigest()
    # What is wrong is told again when the image is read, which names it.
    annotation, image = None, finder.find_or_none(stem(path), path)
    with suppress(HoldfastError):
        annotation = parse_annotation(content)
        image = None
        image = _image(finder, annotation, path)
    return _File(path, annotation, image, fingerprint)


def _image(finder: ImageFinder, annotation: VocAnnotation, path: str) -> str:
    """Find the image: under the name that the file gives, or else under the file's own."""
    own = stem(path)
    names = [name for name in (annotation.filename, own) if name and name in finder]
    if len({stem(name) for name in names}) > 1:
        raise HoldfastError(
            f"It names the image {names[0]!r}, but there is {finder.find(own, path)} too.",
            fix="Correct <filename>, or rename the XML file.",
        )
    return finder.find(names[0] if names else annotation.filename or own, path)


def _entries(reader: _Reader, annotated: Sequence[_File], lists: VocLists) -> Iterator[Entry]:
    source_ids = shortest_names([file.image or file.path for file in annotated])
    for file, source_id in zip(annotated, source_ids, strict=True):
        _, size, objects = file.annotation or ("", NO_SIZE, ())
        yield Entry(
            source_id=source_id,
            place=file.path,
            filename=source_id.rpartition("/")[2],
            read=partial(_read, reader, file.path, source_id),
            split=lists.split_of(file.path)
            if lists.splits
            else split_of_files(file.image, file.path),
            class_counts=Counter(reader.class_of[item.name] for item in objects),
            box_areas=relative_areas((item.box for item in objects), size),
            fingerprint=file.fingerprint,
            image_path=reader.finder.path(file.image) if file.image else "",
        )


def _read(reader: _Reader, path: str, source_id: str) -> Reading:
    annotation = parse_annotation(data_files.read_bytes(data_files.join(reader.root, path)))
    image = _image(reader.finder, annotation, path)
    picture = take_picture(data_files.read_bytes(reader.finder.path(image)), annotation.size)
    objects = [
        LabeledObject(
            class_index=reader.class_of[item.name],
            box=item.box,
            difficult=item.difficult,
            truncated=item.truncated,
        )
        for item in annotation.objects
    ]
    return Reading(build_sample(source_id, picture, objects), picture.remarks)


def _missing(annotated: Sequence[_File], lists: VocLists) -> Iterator[Entry]:
    """Entries for what the lists name and nobody annotated: they fail with that reason."""
    for place, name, split in lists.without_annotation([file.path for file in annotated]):

        def refuse(name: str = name) -> Reading:
            raise HoldfastError(f"The list names {name!r}, but there is no {name}.xml.")

        yield Entry(source_id=name, place=place, filename=name, read=refuse, split=split)


def _unlabeled(finder: ImageFinder, annotated: Sequence[_File]) -> list[str]:
    """Say how many images lie beside the annotated ones without an annotation of their own."""
    known = {file.image for file in annotated if file.image}
    folders = {image.rpartition("/")[0] for image in known}
    alone = [
        path for path in finder.paths if path not in known and path.rpartition("/")[0] in folders
    ]
    return (
        [f"Left out without an XML file: {count_text(len(alone), 'image')}, such as {alone[0]}."]
        if alone
        else []
    )
