"""Tell what an annotation file is from its first bytes."""

from __future__ import annotations

import codecs
import re

from holdfast.data.records import data_files
from holdfast.data.sources.json_keys import ITEM, key_paths

HEAD_BYTES = 64 * 1024
_LABELME_KEYS = re.compile(rb'"(shapes|imagePath|imageData)"\s*:')
_COCO_LISTS = ("images", "annotations", "categories")
# One of these shows that a list of a file that continues after its first bytes is COCO's.
_COCO_ITEMS = {
    ("images", ITEM, "file_name"),
    ("annotations", ITEM, "image_id"),
    ("annotations", ITEM, "category_id"),
    ("categories", ITEM, "supercategory"),
}
# The first element, behind declarations and comments. VOC's is <annotation>, CVAT's <annotations>.
_ROOT = re.compile(rb"(?:<\?.*?\?>|<!--.*?-->|<![^-].*?>|\s)*<([^\s>/]+)", re.DOTALL)
_YOLO_LINE = re.compile(rb"\s*\d+(\.0*)?(\s+[-+]?[\d.]+([eE][-+]?\d+)?){4,}\s*")


def is_coco(path: str) -> bool:
    """Tell whether a JSON file lists images and their annotations."""
    if _LABELME_KEYS.search(head(path)):
        return False
    keys = key_paths(path)
    lists = sum((name, ITEM) in keys for name in _COCO_LISTS)
    return lists >= 2 or not keys.isdisjoint(_COCO_ITEMS)


def is_labelme(path: str) -> bool:
    """Tell whether a JSON file holds the shapes of one image."""
    return _LABELME_KEYS.search(head(path)) is not None


def is_voc(path: str) -> bool:
    """Tell whether an XML file annotates an image."""
    return xml_root(head(path)) == b"annotation"


def is_yolo(path: str) -> bool:
    """Tell whether a text file starts with a class and at least four numbers; empty ones do not."""
    return _YOLO_LINE.fullmatch(head(path).split(b"\n")[0]) is not None


def xml_root(start: bytes) -> bytes:
    """Give the name of the outermost element of an XML file; empty if there is none.

    >>> xml_root(b'<?xml version="1.0"?><!-- of 2007 --><annotation verified="yes">')
    b'annotation'
    """
    found = _ROOT.match(start)
    return found[1] if found else b""


def head(path: str) -> bytes:
    """Read the start of a file as UTF-8, without byte order mark and leading blanks."""
    start = data_files.read_bytes(path, HEAD_BYTES)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        start = start.decode("utf-16", "ignore").encode(errors="ignore")
    return start.removeprefix(codecs.BOM_UTF8).lstrip()
