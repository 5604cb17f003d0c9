"""COCO JSON: boxes, polygons, run-length masks, crowds and keypoints; one file or one a split."""

from __future__ import annotations

import math
import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from holdfast.data.sources.annotated_objects import build_sample
from holdfast.data.sources.classes import build_classes, union
from holdfast.data.sources.coco_document import CocoDocument, Item, load_document
from holdfast.data.sources.coco_objects import box_areas, category_of, to_number, to_object
from holdfast.data.sources.data_folder import open_folder
from holdfast.data.sources.image_files import Size, take_picture
from holdfast.data.sources.lookup import ImageFinder
from holdfast.data.sources.sniff import is_coco
from holdfast.data.sources.source import Entry, Reading, Source
from holdfast.data.sources.source_formats import DEFAULTS, OpenOptions, ending, source_format
from holdfast.data.splitting.split_names import named_split
from holdfast.errors import HoldfastError
from holdfast.units import count_text


class _Reader(NamedTuple):
    """What reading one image needs to know about the whole data set."""

    finder: ImageFinder
    shift: int  # category id + shift = label-map id
    masks: bool
    places: dict[int, list[int]]  # category id -> where its keypoints stand among all
    num_keypoints: int


@source_format("coco", title="COCO JSON", candidates=ending(".json"), is_one=is_coco)
def open_coco(location: str, options: OpenOptions = DEFAULTS) -> Source:
    """Open a COCO JSON file, or all those of a folder.

    Category ids become label-map ids as they are, gaps included; only if the data uses id 0, which
    label maps keep for the background, all move up. An image is called by its id; if several files
    use the same ids, by split (or file) and id.
    """
    folder = open_folder(location, ending(".json"), is_coco)
    loaded = [load_document(folder.root, path) for path in folder.annotations]
    documents = [document for document in loaded if document is not None]
    if not documents:
        fix = "It needs the lists `images`, `annotations` and `categories`."
        raise HoldfastError(f"{location} has no COCO annotations.", fix=fix)
    _refuse_overlap(documents)
    categories = _merge_categories(documents)
    shift, notes = _shift(documents, categories)
    keypoints = _keypoints(documents, categories)
    classes = build_classes(
        {
            number + shift: str(item["name"])
            for number, item in categories.items()
            if number + shift > 0
        },
        {number + shift: names for number, names in keypoints.items()},
    )
    outlines, outline_notes = _outlines(documents) if options.masks else (False, [])
    every = union(keypoints.values())
    places = {number: [every.index(name) for name in names] for number, names in keypoints.items()}
    finder = folder.images(options.images)
    reader = _Reader(finder, shift, outlines, places, len(every))
    return Source(
        format="coco",
        location=location,
        label_map=classes.label_map,
        entries=tuple(_entries(reader, documents)),
        masks=reader.masks,
        notes=(*notes, *classes.notes, *outline_notes, *_orphan_notes(documents)),
    )


def _refuse_overlap(documents: Sequence[CocoDocument]) -> None:
    """Two files about the same images, such as instances and person_keypoints, need a choice."""
    owner: dict[tuple[str, str | None, str], str] = {}
    for document in documents:
        folder = posixpath.dirname(document.path)
        for name in {str(image["file_name"]) for image in document.images}:
            other = owner.setdefault((folder, document.split, name), document.path)
            if other != document.path:
                raise HoldfastError(
                    f"{other} and {document.path} both describe the image {name}.",
                    fix="Give the file that you mean as the source.",
                )


def _merge_categories(documents: Iterable[CocoDocument]) -> dict[int, Item]:
    categories: dict[int, Item] = {}
    home: dict[int, str] = {}
    for document in documents:
        for number, item in document.categories.items():
            known = categories.setdefault(number, item)
            home.setdefault(number, document.path)
            if known["name"] != item["name"]:
                raise HoldfastError(
                    f"Category {number} is {known['name']!r} in {home[number]} "
                    f"and {item['name']!r} in {document.path}.",
                    fix="Convert the files one by one, or give the categories the same ids.",
                )
    return categories


def _shift(documents: Iterable[CocoDocument], categories: dict[int, Item]) -> tuple[int, list[str]]:
    """Find what to add to category ids so that those in use are positive, and say so."""
    used = Counter(
        number
        for document in documents
        for items in document.annotations.values()
        for item in items
        if (number := category_of(item)) is not None
    )
    lowest = min((number for number in used if number in categories), default=1)
    if lowest < 1:
        moved = f"Category ids start at {lowest}: all are moved up by {1 - lowest}"
        return 1 - lowest, [f"{moved}, as label-map id 0 is the background."]
    idle = [
        f"{number} ({categories[number]['name']})" for number in sorted(categories) if number < 1
    ]
    return 0, [f"Category {name} is not used and left out." for name in idle]


def _keypoints(
    documents: Iterable[CocoDocument], categories: dict[int, Item]
) -> dict[int, tuple[str, ...]]:
    """Name the keypoints of each category that has any; by number where the file has no names."""
    lengths: Counter[int] = Counter()
    for document in documents:
        for items in document.annotations.values():
            for item in items:
                number = category_of(item)
                points = item.get("keypoints")
                if number in categories and points and isinstance(points, list):
                    lengths[number] = max(lengths[number], math.ceil(len(points) / 3))
    named = {
        number: tuple(map(str, item["keypoints"]))
        for number, item in categories.items()
        if item.get("keypoints")
    }
    counted = {
        number: tuple(f"keypoint_{index + 1}" for index in range(length))
        for number, length in lengths.items()
    }
    return counted | named


def _outlines(documents: Iterable[CocoDocument]) -> tuple[bool, list[str]]:
    """Tell whether the data has masks at all, and how many objects are without."""
    annotations = [
        bool(item.get("segmentation"))
        for document in documents
        for items in document.annotations.values()
        for item in items
    ]
    without = annotations.count(False)
    if without == len(annotations):
        return False, []
    note = f"{without} of {len(annotations)} objects have no outline: their masks are empty."
    return True, [note] if without else []


def _orphan_notes(documents: Iterable[CocoDocument]) -> Iterator[str]:
    for document in documents:
        if count := document.orphans:
            annotations = count_text(count, "annotation")
            yield f"{document.path}: {annotations} of images that it does not list."


def _entries(reader: _Reader, documents: Sequence[CocoDocument]) -> Iterator[Entry]:
    ids = Counter(
        number for document in documents for number in {str(i["id"]) for i in document.images}
    )
    splits = {document.split for document in documents}
    by_split = None not in splits and len(splits) == len(documents)
    for document in documents:
        prefix = (
            f"{document.split if by_split else document.path}/"
            if max(ids.values(), default=0) > 1
            else ""
        )
        for image in document.images:
            yield _entry(reader, document, image, f"{prefix}{image['id']}")


def _entry(reader: _Reader, document: CocoDocument, image: Item, source_id: str) -> Entry:
    name = str(image["file_name"])
    annotations = document.annotations.get(str(image["id"]), [])
    classes = (category_of(annotation) for annotation in annotations)
    path = reader.finder.find_or_none(name, document.path)
    return Entry(
        source_id=source_id,
        place=f"{document.path}, image {image['id']} ({name})",
        filename=name,
        read=partial(_read, reader, document, image, source_id),
        split=document.split or (named_split(path) if path else None),
        class_counts=Counter(number + reader.shift - 1 for number in classes if number is not None),
        box_areas=box_areas(annotations, _declared(image)),
        fingerprint=document.fingerprint,
        image_path=reader.finder.path(path) if path else "",
    )


def _read(reader: _Reader, document: CocoDocument, image: Item, source_id: str) -> Reading:
    encoded = reader.finder.read(str(image["file_name"]), document.path)
    picture = take_picture(encoded, _declared(image))
    to_objects = partial(
        to_object,
        shift=reader.shift,
        masks=reader.masks,
        places=reader.places,
        num_keypoints=reader.num_keypoints,
    )
    sample = build_sample(
        source_id,
        picture,
        [to_objects(item) for item in document.annotations.get(str(image["id"]), [])],
        masks=reader.masks,
        num_keypoints=reader.num_keypoints,
    )
    return Reading(sample, picture.remarks)


def _declared(image: Item) -> Size:
    return Size(_whole(image.get("width")), _whole(image.get("height")))


def _whole(value: Any) -> int:
    number = to_number(value)
    return int(number) if math.isfinite(number) else 0
