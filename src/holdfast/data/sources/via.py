"""VGG Image Annotator (VIA): projects, and annotations exported as JSON or CSV."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from holdfast.data.sources.data_folder import DataFolder, open_folder
from holdfast.data.sources.drawings import Drawing
from holdfast.data.sources.exports import DrawnImage, Export, build_source
from holdfast.data.sources.json_file import parse_json
from holdfast.data.sources.sniff_tools import is_via
from holdfast.data.sources.source import Source
from holdfast.data.sources.source_formats import DEFAULTS, OpenOptions, ending, source_format
from holdfast.data.sources.via_regions import (
    ONLY_CLASS,
    Item,
    ViaRegion,
    choose_attributes,
    draw_region,
    values_of,
)
from holdfast.data.splitting.split_names import named_split
from holdfast.errors import HoldfastError

_candidates = ending(".json", ".csv")


class _Image(NamedTuple):
    """What a file says about one image."""

    name: str
    annotation: str
    place: str
    regions: tuple[ViaRegion, ...]
    fingerprint: str


@source_format("via", title="VIA JSON or CSV", candidates=_candidates, is_one=is_via)
def open_via(location: str, options: OpenOptions = DEFAULTS) -> Source:
    """Open files of the VGG Image Annotator; classes are numbered by the alphabet.

    The class is the only attribute of regions that is filled in, or the one that is called class,
    label, name or alike. If no region has an attribute, all are of one class.
    """
    folder = open_folder(location, _candidates, is_via)
    images = [image for path in folder.annotations for image in _images(folder, path)]
    if not images:
        raise HoldfastError(f"{location} has no images in VIA annotations (JSON or CSV files).")
    images = _share_options(images)
    attributes = _choose(images)
    nameless = sum(not _classes(region, attributes) for one in images for region in one.regions)
    several = sum(len(_classes(region, attributes)) > 1 for one in images for region in one.regions)
    notes = []
    if not attributes and any(image.regions for image in images):
        notes.append(f"Regions have no attribute: all are of one class, called {ONLY_CLASS!r}.")
    if several:
        notes.append(f"Regions of more than one class: {several}. The first is used.")
    export = Export(
        images=tuple(_draw(image, attributes) for image in images),
        left_out={f"Regions without {attributes[0]!r}": nameless} if nameless else {},
        notes=tuple(notes),
    )
    finder = folder.images(options.images)
    return build_source(export, finder, form="via", location=location, masks=options.masks)


def _choose(images: Sequence[_Image]) -> tuple[str, ...]:
    try:
        return choose_attributes(region for image in images for region in image.regions)
    except HoldfastError as error:
        raise HoldfastError(f"{images[0].annotation}: {error.message}", fix=error.fix) from None


def _share_options(images: Sequence[_Image]) -> list[_Image]:
    """Let what a project says about its options count for the exports that lie beside it."""
    shared: dict[str, Any] = {}
    for image in images:
        for one in image.regions[:1]:  # all regions of a file have the same
            shared |= one.options
    return [
        image._replace(regions=tuple(one._replace(options=shared) for one in image.regions))
        for image in images
    ]


def _classes(region: ViaRegion, attributes: Sequence[str]) -> list[str]:
    return values_of(region, attributes) if attributes else [ONLY_CLASS]


def _draw(image: _Image, attributes: Sequence[str]) -> DrawnImage:
    drawings: list[Drawing] = []
    problem = None
    for index, region in enumerate(image.regions):
        if not (labels := _classes(region, attributes)):
            continue
        try:
            drawings.append(draw_region(region.shape, labels[0]))
        except HoldfastError as error:
            problem = HoldfastError(f"Region {index} cannot be read: {error.message}")
            break
    return DrawnImage(
        names=(image.name,),
        annotation=image.annotation,
        place=image.place,
        drawings=() if problem else tuple(drawings),
        split=named_split(image.annotation, by_name=True),
        fingerprint=image.fingerprint,
        problem=problem,
    )


def _images(folder: DataFolder, path: str) -> Iterator[_Image]:
    content = folder.read(path)
    fingerprint = hashlib.sha256(content).hexdigest()
    rows = _csv_rows(content, path) if path.lower().endswith(".csv") else _entries(content, path)
    for name, place, regions in rows:
        yield _Image(name, path, f"{path}, {place}", tuple(regions), fingerprint)


def _entries(content: bytes, path: str) -> Iterator[tuple[str, str, list[ViaRegion]]]:
    """Read the images of a JSON file: of a project, or of the annotations alone."""
    parsed = parse_json(content, path)
    if not isinstance(parsed, dict):
        raise HoldfastError(f"{path} is not a VIA file: a JSON object with an entry per image.")
    images = parsed.get("_via_img_metadata", parsed)
    options = _options(parsed)
    for key, image in images.items() if isinstance(images, dict) else ():
        if not isinstance(image, dict) or not str(image.get("filename") or "").strip():
            raise HoldfastError(f"{path}: the entry {key!r} has no filename.")
        regions = image.get("regions") or []
        items = list(regions.values()) if isinstance(regions, dict) else regions
        if not isinstance(items, list):
            raise HoldfastError(f"{path}: the regions of {key!r} are not a list.")
        name = str(image["filename"]).strip()
        yield name, f"image {name}", [_region(item, options, f"{path}: {key!r}") for item in items]


def _options(parsed: Item) -> Item:
    """Give the options of a project's attributes: attribute -> option -> meaning."""
    match parsed.get("_via_attributes"):
        case {"region": dict(attributes)}:
            return {
                name: attribute.get("options")
                for name, attribute in attributes.items()
                if isinstance(attribute, Mapping) and attribute.get("options")
            }
    return {}


def _region(item: Any, options: Item, where: str) -> ViaRegion:
    match item:
        case {"shape_attributes": dict(shape)}:
            attributes = item.get("region_attributes")
            shape = {"name": item.get("name"), **shape}  # scripts put it beside the shape
            return ViaRegion(shape, attributes if isinstance(attributes, dict) else {}, options)
    raise HoldfastError(f"{where} has a region without shape_attributes.")


def _csv_rows(content: bytes, path: str) -> Iterator[tuple[str, str, list[ViaRegion]]]:
    """Read a row per region; an image without any has a row with an empty shape."""
    reader = csv.DictReader(io.StringIO(_text(content, path), newline=""), skipinitialspace=True)
    reader.fieldnames = [name.strip().lstrip("#") for name in reader.fieldnames or ()]
    regions: dict[str, list[ViaRegion]] = {}
    lines: dict[str, int] = {}
    for row in _rows(reader, path):
        name = (row.get("filename") or "").strip()
        if not name:
            raise HoldfastError(f"{path}, line {reader.line_num}: there is no filename.")
        lines.setdefault(name, reader.line_num)
        found = regions.setdefault(name, [])
        shape, attributes = (
            _json_field(row.get(field), f"{path}, line {reader.line_num}: {field}")
            for field in ("region_shape_attributes", "region_attributes")
        )
        if shape:
            found.append(ViaRegion(shape, attributes, {}))
    for name, found in regions.items():
        yield name, f"line {lines[name]} ({name})", found


def _rows(reader: csv.DictReader[str], path: str) -> Iterator[dict[str, str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise HoldfastError(f"{path}, line {reader.line_num}: {error}.") from None


def _text(content: bytes, path: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise HoldfastError(f"{path} is not UTF-8 text: {error.reason}.") from None


def _json_field(value: str | None, where: str) -> dict[str, Any]:
    try:
        parsed = json.loads(value or "{}")
    except json.JSONDecodeError as error:
        raise HoldfastError(f"{where} is not valid JSON: {error.msg}.") from None
    if not isinstance(parsed, dict):
        raise HoldfastError(f"{where} is not a JSON object.")
    return parsed
