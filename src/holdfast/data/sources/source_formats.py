"""The formats of labeled images: one row each, found by what files hold, not by their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from holdfast.registry import Registry, load_from_outside

if TYPE_CHECKING:
    from holdfast.data.sources.source import Source


@dataclass(frozen=True, kw_only=True)
class OpenOptions:
    """What a user may decide about how a data set is read."""

    masks: bool = True  # read outlines where there are any
    seed: int = 0  # decides what is made on the spot
    images: str | None = None  # folder of the images; None: that of the annotations


DEFAULTS = OpenOptions()

Paths = Sequence[str]
Opener = Callable[[str, OpenOptions], "Source"]


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format: which files may hold it, how to tell, and how to open it."""

    name: str  # what --format takes
    title: str  # for messages, with the files it is looked for in
    candidates: Callable[[Paths], Paths]  # of all files of a folder those that may be annotations
    is_one: Callable[[str], bool]  # looks into a file
    open: Opener  # opens a folder, or a single annotation file


FORMATS: Registry[Format] = Registry("format")

# The module of each format that Holdfast brings along, in the order in which formats are named.
# They load TensorFlow, so they are imported when a data set is opened and not before.
_MODULES = {
    "coco": "coco",
    "voc": "voc",
    "yolo": "yolo",
    "labelme": "labelme",
    "cvat": "cvat",
    "via": "via",
    "label_studio": "label_studio",
    "createml": "createml",
    "supervisely": "supervisely",
    "csv": "box_table",
    "open_images": "open_images",
    "oidv4": "oidv4",
    "dota": "dota",
    "kitti": "kitti",
    "wider_face": "wider_face",
    "synthetic": "synthetic",
}


def source_format(
    name: str,
    *,
    title: str,
    candidates: Callable[[Paths], Paths],
    is_one: Callable[[str], bool],
) -> Callable[[Opener], Opener]:
    """Make the decorated function the opener of a format, `open(location, options) -> Source`.

    Its location is a folder, or a single file of those that it annotates images with. Everything
    else follows: `--format NAME`, detection, `convert`, `inspect` and `new`.
    """

    def add(opener: Opener) -> Opener:
        row = Format(name=name, title=title, candidates=candidates, is_one=is_one, open=opener)
        FORMATS.register(name, opener)(row)
        return opener

    return add


def ending(*endings: str) -> Callable[[Paths], list[str]]:
    """Make a `candidates` that picks files by their ending, in any case.

    >>> ending(".csv")(["a.csv", "b.CSV", "c.txt"])
    ['a.csv', 'b.CSV']
    """
    return lambda paths: [path for path in paths if path.lower().endswith(endings)]


def format_names() -> tuple[str, ...]:
    """List what --format takes; imports nothing."""
    return tuple(dict.fromkeys((*_MODULES, *FORMATS)))


def formats_from_outside() -> list[Format]:
    """Give the formats of installed packages, which are loaded when no other one fits."""
    before = set(FORMATS)
    load_from_outside()
    return [FORMATS[name] for name in FORMATS if name not in before]


def load_formats() -> list[Format]:
    """Give all formats, those that Holdfast brings along first."""
    for module in _MODULES.values():
        import_module(f"holdfast.data.sources.{module}")
    return [FORMATS[name] for name in format_names()]
