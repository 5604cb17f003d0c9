"""Tell what an annotation file is from its first bytes."""

from __future__ import annotations

import re

from holdfast.data import files

_HEAD_BYTES = 64 * 1024
_LABELME_KEYS = re.compile(rb'"(shapes|imagePath|imageData)"\s*:')
_COCO_KEYS = re.compile(rb'"(images|annotations|categories)"\s*:\s*\[')
_YOLO_LINE = re.compile(rb"\s*\d+(\.0*)?(\s+[-+]?[\d.]+([eE][-+]?\d+)?){4,}\s*")


def is_coco(path: str) -> bool:
    """Tell whether a JSON file lists images and their annotations."""
    head = _head(path)
    return not _LABELME_KEYS.search(head) and _COCO_KEYS.search(head) is not None


def is_labelme(path: str) -> bool:
    """Tell whether a JSON file holds the shapes of one image."""
    return _LABELME_KEYS.search(_head(path)) is not None


def is_voc(path: str) -> bool:
    """Tell whether an XML file annotates an image."""
    return b"<annotation" in _head(path)


def is_yolo(path: str) -> bool:
    """Tell whether a text file starts with a class and at least four numbers; empty ones do not."""
    return _YOLO_LINE.fullmatch(_head(path).lstrip().split(b"\n")[0]) is not None


def _head(path: str) -> bytes:
    return files.read_bytes(path, _HEAD_BYTES)
