"""LabelMe JSON: one file an image, the image in it or beside it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import posixpath
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from holdfast.data.sources.annotated_objects import build_sample
from holdfast.data.sources.classes import build_classes, sorted_names, union
from holdfast.data.sources.data_folder import DataFolder, open_folder
from holdfast.data.sources.image_files import NO_SIZE, Size, take_picture
from holdfast.data.sources.labelme_shapes import (
    ShapeGroup,
    box_areas,
    group_shapes,
    has_outline,
    parse_shapes,
    to_object,
)
from holdfast.data.sources.lookup import ImageFinder, stem
from holdfast.data.sources.sniff import is_labelme
from holdfast.data.sources.source import Entry, Reading, Source, shortest_names
from holdfast.data.sources.source_formats import DEFAULTS, OpenOptions, ending, source_format
from holdfast.data.splitting.split_names import split_of_files
from holdfast.errors import HoldfastError

_LABEL_LIST = "labels.txt"
_NOT_CLASSES = ("__ignore__", "_background_")


class _Reader(NamedTuple):
    """What reading one image needs to know about the whole data set."""

    folder: DataFolder
    finder: ImageFinder
    class_of: Mapping[str, int]  # name -> class, 0-based
    masks: bool
    keypoint_names: tuple[str, ...]


class _File(NamedTuple):
    """A JSON file, looked at once; the image in it is not kept."""

    path: str
    image: str  # as the file calls it
    labels: tuple[str, ...]  # one for each object
    box_areas: tuple[float, ...]
    keypoints: dict[str, tuple[str, ...]]  # class name -> keypoints
    outlined: bool
    embedded: bool
    fingerprint: str


@source_format("labelme", title="LabelMe JSON", candidates=ending(".json"), is_one=is_labelme)
def open_labelme(location: str, options: OpenOptions = DEFAULTS) -> Source:
    """Open a folder of LabelMe JSON files.

    Classes are numbered as in LabelMe's labels.txt, or else by the alphabet. Shapes of equal label
    and group_id are one object; points with the group_id of an area are its keypoints. The data
    has masks if any object is drawn more closely than by a rectangle.
    """
    folder = open_folder(location, ending(".json"), is_labelme)
    found = [_look(path, folder.read(path)) for path in folder.annotations]
    if not found:
        raise HoldfastError(f"{location} has no LabelMe annotations (JSON files with `shapes`).")
    listed = _listed_names(folder)
    numbers = _number_classes(listed, {label for file in found for label in file.labels})
    keypoints = {
        number: points
        for number, name in numbers.items()
        if (points := union(file.keypoints.get(name, ()) for file in found))
    }
    classes = build_classes(numbers, keypoints)
    reader = _Reader(
        folder=folder,
        finder=folder.images(options.images),
        class_of={name: number - 1 for number, name in numbers.items()},
        masks=options.masks and any(file.outlined for file in found),
        keypoint_names=union(keypoints.values()),
    )
    return Source(
        format="labelme",
        location=location,
        label_map=classes.label_map,
        entries=tuple(_entries(reader, found)),
        masks=reader.masks,
        notes=classes.notes,
    )


def _look(path: str, content: bytes) -> _File:
    parsed: Mapping[str, Any] = {}
    groups: list[ShapeGroup] = []
    with suppress(HoldfastError):  # told again when the image is read, which names it
        parsed = _parse(content)
        groups = group_shapes(parse_shapes(parsed))
    keypoints: dict[str, tuple[str, ...]] = {}
    for group in groups:
        points = tuple(point.label for point in group.keypoints)
        keypoints[group.label] = union([keypoints.get(group.label, ()), points])
    return _File(
        path=path,
        image=str(parsed.get("imagePath") or stem(path)).replace("\\", "/"),
        labels=tuple(group.label for group in groups),
        box_areas=box_areas(groups, _declared(parsed)),
        keypoints=keypoints,
        outlined=any(map(has_outline, groups)),
        embedded=bool(parsed.get("imageData")),
        fingerprint=hashlib.sha256(content).hexdigest(),
    )


def _parse(content: bytes) -> Mapping[str, Any]:
    try:
        parsed = json.loads(content)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise HoldfastError(f"It is not valid JSON: {error}.") from None
    if not isinstance(parsed, dict):
        raise HoldfastError("It is not a LabelMe file: a JSON object with `shapes`.")
    return parsed


def _listed_names(folder: DataFolder) -> list[str]:
    """Give the classes of LabelMe's labels.txt in their order; none if there is no such file."""
    named = (path for path in folder.paths if posixpath.basename(path) == _LABEL_LIST)
    path = min(named, default="")
    text = folder.read(path).decode("utf-8-sig", "replace") if path else ""
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line and line not in _NOT_CLASSES]


def _number_classes(listed: Sequence[str], used: set[str]) -> dict[int, str]:
    """Give the listed classes the ids from 1 on; those used but not listed come behind them."""
    others = sorted_names(used - set(listed)).values()
    return dict(enumerate((*dict.fromkeys(listed), *others), start=1))


def _entries(reader: _Reader, found: Sequence[_File]) -> Iterator[Entry]:
    images = [
        None if file.embedded else reader.finder.find_or_none(_image_name(reader, file), file.path)
        for file in found
    ]
    names = [image or _called(file) for image, file in zip(images, found, strict=True)]
    for file, image, source_id in zip(found, images, shortest_names(names), strict=True):
        yield Entry(
            source_id=source_id,
            place=file.path,
            filename=posixpath.basename(file.image),
            read=partial(_read, reader, file, source_id),
            split=split_of_files(image, file.path),
            class_counts=Counter(reader.class_of[label] for label in file.labels),
            box_areas=file.box_areas,
            fingerprint=file.fingerprint,
            image_path=reader.finder.path(image) if image else "",
        )


def _called(file: _File) -> str:
    """Give the path at which an image would lie beside its JSON file."""
    return posixpath.join(posixpath.dirname(file.path), posixpath.basename(file.image))


def _image_name(reader: _Reader, file: _File) -> str:
    """Give the name of the image: the one in the file, or else that of the file itself."""
    return file.image if file.image in reader.finder else stem(file.path)


def _read(reader: _Reader, file: _File, source_id: str) -> Reading:
    parsed = _parse(reader.folder.read(file.path))
    groups = group_shapes(parse_shapes(parsed))
    picture = take_picture(_encoded(reader, file, parsed), _declared(parsed))
    objects = [
        to_object(
            group,
            reader.class_of[group.label],
            masks=reader.masks,
            keypoint_names=reader.keypoint_names,
        )
        for group in groups
    ]
    sample = build_sample(
        source_id,
        picture,
        objects,
        masks=reader.masks,
        num_keypoints=len(reader.keypoint_names),
    )
    return Reading(sample, picture.remarks)


def _encoded(reader: _Reader, file: _File, parsed: Mapping[str, Any]) -> bytes:
    """Give the image that was labeled: the one in the file, as LabelMe does, or the one beside."""
    if not file.embedded:
        return reader.finder.read(_image_name(reader, file), file.path)
    try:
        return base64.b64decode(parsed["imageData"])
    except (TypeError, ValueError, binascii.Error):
        raise HoldfastError("Its imageData is not base64.") from None


def _declared(parsed: Mapping[str, Any]) -> Size:
    match parsed.get("imageWidth"), parsed.get("imageHeight"):
        case int(width), int(height):
            return Size(width, height)
    return NO_SIZE
