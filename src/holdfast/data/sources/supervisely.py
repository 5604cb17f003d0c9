"""Supervisely: a project with meta.json, and in each data set the folders `ann` and `img`."""

from __future__ import annotations

import hashlib
import posixpath
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.data.sources.classes import union
from holdfast.data.sources.data_folder import DataFolder, open_folder
from holdfast.data.sources.drawings import Drawing, to_size
from holdfast.data.sources.exports import DrawnImage, Export, build_source, split_called
from holdfast.data.sources.image_files import NO_SIZE, Size
from holdfast.data.sources.json_file import parse_json
from holdfast.data.sources.sniff_tools import is_supervisely
from holdfast.data.sources.source import Source
from holdfast.data.sources.source_formats import DEFAULTS, OpenOptions, ending, source_format
from holdfast.data.sources.supervisely_figures import Item, draw_figure
from holdfast.data.splitting.split_names import named_split
from holdfast.errors import HoldfastError

_META = "meta.json"


@source_format(
    "supervisely", title="Supervisely JSON", candidates=ending(".json"), is_one=is_supervisely
)
def open_supervisely(location: str, options: OpenOptions = DEFAULTS) -> Source:
    """Open a Supervisely project; classes are numbered as in its meta.json, or by the alphabet.

    A data set may have the images in `img` and the annotations in `ann`, as Supervisely exports
    them, or both in one folder. Splits are those of the tags train and val of images, or else of
    the data sets' names.
    """
    folder = open_folder(location, ending(".json"), is_supervisely)
    if not folder.annotations:
        raise HoldfastError(f"{location} has no Supervisely annotations (JSON with `objects`).")
    classes = _classes(folder)
    left_out: Counter[str] = Counter()
    images = [
        image
        for path in folder.annotations
        for image in [_image(path, folder.read(path), classes, left_out)]
    ]
    export = Export(images=tuple(images), listed=tuple(classes), left_out=left_out)
    finder = folder.images(options.images)
    return build_source(export, finder, form="supervisely", location=location, masks=options.masks)


def _classes(folder: DataFolder) -> dict[str, str]:
    """Give the classes of all projects: name -> shape."""
    classes: dict[str, str] = {}
    for path in folder.paths:
        if posixpath.basename(path).lower() != _META:
            continue
        parsed = parse_json(folder.read(path), path)
        items = parsed.get("classes") if isinstance(parsed, dict) else None
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict) and str(item.get("title") or "").strip():
                classes.setdefault(str(item["title"]).strip(), str(item.get("shape") or ""))
    return classes


def _image(
    path: str, content: bytes, classes: Mapping[str, str], left_out: Counter[str]
) -> DrawnImage:
    problem = None
    drawings: tuple[Drawing, ...] = ()
    parsed: Item = {}
    try:
        parsed = _parse(content, path)
        drawings = tuple(_draw(parsed, classes, left_out))
    except HoldfastError as error:
        problem = error
    return DrawnImage(
        names=_names(path, parsed),
        annotation=path,
        place=path,
        drawings=drawings,
        size=_size(parsed),
        split=_split(parsed) or named_split(path),
        fingerprint=hashlib.sha256(content).hexdigest(),
        problem=problem,
    )


def _parse(content: bytes, path: str) -> Item:
    parsed = parse_json(content, posixpath.basename(path))
    if isinstance(parsed, dict) and isinstance(parsed.get("annotation"), dict):
        parsed = {"name": parsed.get("imageName"), **parsed["annotation"]}  # as the API gives it
    if not isinstance(parsed, dict) or not isinstance(parsed.get("objects"), list):
        raise HoldfastError("It is not a Supervisely file: a JSON object with `objects`.")
    return parsed


def _names(path: str, parsed: Item) -> tuple[str, ...]:
    """Name the image: 1.jpg.json speaks of 1.jpg in the folder `img` beside `ann`.

    Old exports call it 1.json; then its name may be inside.
    """
    folder, name = posixpath.split(path)
    above, last = posixpath.split(folder)
    place = posixpath.join(above, "img") if last == "ann" else folder
    own = posixpath.join(place, name[: -len(".json")])
    inside = str(parsed.get("name") or "").strip()
    return union([[own], [posixpath.join(place, inside)] if inside else []])


def _size(parsed: Item) -> Size:
    match parsed.get("size"):
        case {"width": width, "height": height}:
            return to_size(width, height)
    return NO_SIZE


def _split(parsed: Item) -> str | None:
    """Read a tag such as `train`, or `split: train`, of the image; old exports list plain texts."""
    tags = parsed.get("tags")
    for tag in tags if isinstance(tags, list) else ():
        words = [tag.get("name"), tag.get("value")] if isinstance(tag, dict) else [tag]
        for word in words:
            if split := split_called(word if isinstance(word, str) else None):
                return split
    return None


def _draw(parsed: Item, classes: Mapping[str, str], left_out: Counter[str]) -> Iterator[Drawing]:
    for index, item in enumerate(parsed["objects"]):
        label = _label(item)
        if not label:
            raise HoldfastError(f"objects[{index}] has no classTitle.")
        kind = str(item.get("geometryType") or classes.get(label) or "")
        try:
            drawing = draw_figure(item, kind, label)
        except HoldfastError as error:
            raise HoldfastError(f"objects[{index}] cannot be read: {error.message}") from None
        if drawing is None:
            left_out[f"Objects of the kind {kind!r}"] += 1
        else:
            yield drawing


def _label(item: Any) -> str:
    return str(item.get("classTitle") or "").strip() if isinstance(item, dict) else ""
