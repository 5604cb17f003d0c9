"""Where a data set lies: its folder, the files below it, and the annotations among them."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

from holdfast.data.records import data_files
from holdfast.data.sources.lookup import ImageFinder, is_image
from holdfast.data.sources.source_formats import Paths
from holdfast.errors import HoldfastError

# Folders for annotations alone: the images lie beside them.
_ANNOTATION_FOLDERS = ("annotation", "annotations", "ann", "label", "labels", "labeltxt")
# Enough to meet an image, should a folder hold any; not all of somebody's home.
_LOOKED_AT = 10_000


class DataFolder(NamedTuple):
    """The files of a data set; all paths are relative to its root."""

    root: str
    paths: list[str]
    annotations: list[str]

    def path(self, relative: str) -> str:
        """Give the path to open of a file of the data set."""
        return data_files.join(self.root, relative)

    def read(self, relative: str) -> bytes:
        """Read a file of the data set."""
        return data_files.read_bytes(self.path(relative))

    def images(self, folder: str | None = None) -> ImageFinder:
        """Give the images: those of the data set, or of another folder that the user names."""
        if folder is None:
            return ImageFinder(self.paths, self.root)
        folder = data_files.expand(folder).rstrip("/") or "/"
        if not data_files.is_folder(folder):
            raise HoldfastError(
                f"{folder}, named by --images, is not a folder.",
                fix="Give the folder that holds the images, directly or in folders below it.",
            )
        return ImageFinder(data_files.walk(folder), folder)


def open_folder(
    location: str, candidates: Callable[[Paths], Paths], is_one: Callable[[str], bool]
) -> DataFolder:
    """Look through a folder for annotations of a format; a single file is taken as it is.

    The root of a single file is its folder, or the one above if the images lie beside that:
    data/train_labels.csv speaks of images/1.jpg.
    """
    if data_files.is_folder(location):
        paths = list(data_files.walk(location))
        found = [path for path in candidates(paths) if is_one(data_files.join(location, path))]
        return DataFolder(location, paths, found)
    folder, name = posixpath.split(location)
    above, last = posixpath.split(folder)
    if _lies_beside(folder or ".", last, above or "."):
        return DataFolder(above or ".", list(data_files.walk(above or ".")), [f"{last}/{name}"])
    return DataFolder(folder or ".", list(data_files.walk(folder or ".")), [name])


def _lies_beside(folder: str, name: str, above: str) -> bool:
    """Tell whether images lie beside a folder of annotations and not below it."""
    if not name:
        return False
    if name.lower() in _ANNOTATION_FOLDERS:
        return True
    return not _holds_images(folder) and _holds_images(above)


def _holds_images(folder: str) -> bool:
    try:
        return any(map(is_image, islice(data_files.walk(folder), _LOOKED_AT)))
    except HoldfastError:  # something in it cannot be read, which need not be of the data set
        return False
