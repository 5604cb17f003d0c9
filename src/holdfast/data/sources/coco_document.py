"""One COCO JSON file: parsed, checked for its form, annotations sorted by image."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from holdfast.data.records import data_files
from holdfast.data.splitting.split_names import named_split
from holdfast.errors import HoldfastError

Item = dict[str, Any]  # an object of the JSON file, with the fields that COCO defines


class CocoDocument(NamedTuple):
    """A file as parsed; its path is relative to the data set's folder."""

    path: str
    split: str | None
    images: list[Item]
    annotations: dict[str, list[Item]]  # image id as text -> its annotations, in file order
    categories: dict[int, Item]
    fingerprint: str

    @property
    def orphans(self) -> int:
        """How many annotations name an image that the file does not list."""
        known = {str(image["id"]) for image in self.images}
        return sum(len(items) for key, items in self.annotations.items() if key not in known)


def load_document(root: str, path: str) -> CocoDocument | None:
    """Read a file; None if it is of the COCO family but lists no categories, such as captions."""
    content = data_files.read_bytes(data_files.join(root, path))
    try:
        parsed = json.loads(content, object_hook=_compact)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise HoldfastError(f"{path} is not valid JSON: {error}.") from None
    if not isinstance(parsed, dict) or "categories" not in parsed or "images" not in parsed:
        return None
    annotations = defaultdict(list)
    for annotation in _items(parsed, "annotations", ("image_id",), path):
        annotations[str(annotation["image_id"])].append(annotation)
    return CocoDocument(
        path=path,
        split=named_split(path, by_name=True),
        images=_items(parsed, "images", ("id", "file_name"), path),
        annotations=dict(annotations),
        categories=_categories(parsed, path),
        fingerprint=hashlib.sha256(content).hexdigest(),
    )


def _compact(item: Item) -> Item:
    """Keep polygons as arrays while parsing: as lists of floats, COCO's own take gigabytes."""
    polygons = item.get("segmentation")
    if isinstance(polygons, list) and polygons:
        parts = [polygons] if isinstance(polygons[0], int | float) else polygons
        with suppress(TypeError, ValueError):  # refused when the image is read, which names it
            item["segmentation"] = [np.array(part, np.float64) for part in parts]
    return item


def _items(parsed: Item, name: str, needed: tuple[str, ...], path: str) -> list[Item]:
    items = parsed.get(name) or []
    if not isinstance(items, list):
        raise HoldfastError(f"{path}: {name!r} must be a list.")
    for index, item in enumerate(items):
        missing = [key for key in needed if not isinstance(item, dict) or key not in item]
        if missing:
            raise HoldfastError(f"{path}: {name}[{index}] has no {missing[0]!r}.")
    return items


def _categories(parsed: Item, path: str) -> dict[int, Item]:
    categories: dict[int, Item] = {}
    for index, item in enumerate(_items(parsed, "categories", ("id", "name"), path)):
        try:
            number = int(item["id"])
        except (TypeError, ValueError, OverflowError):
            message = f"{path}: categories[{index}] has the id {item['id']!r}, not a whole number."
            raise HoldfastError(message) from None
        if number in categories and categories[number]["name"] != item["name"]:
            names = f"{categories[number]['name']!r} and {item['name']!r}"
            raise HoldfastError(f"{path}: category id {number} is given to {names}.")
        categories[number] = item
    return categories
