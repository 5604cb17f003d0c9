"""How a YOLO data set lies on disk: which image has which label file and is in which split."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from holdfast.data import files
from holdfast.data.sources.lookup import is_image, stem
from holdfast.data.sources.sniff import is_yolo
from holdfast.data.sources.yolo_settings import Settings
from holdfast.data.split import SPLITS, named_split


class LabelledImage(NamedTuple):
    """An image and its label file. One of them may be missing: "" then."""

    image: str
    label: str
    split: str | None


class Layout(NamedTuple):
    """All images, label files without image among them, and what a user should know."""

    images: tuple[LabelledImage, ...]
    notes: tuple[str, ...]


def find_layout(root: str, settings: Settings) -> Layout:
    """Find the images: those that data.yaml lists, or else those that lie below the folder."""
    folders = _Folders()
    listed, notes = _listed(settings, folders)
    images = listed or _lying_below(root, folders)
    unlabelled = sum(not image.label for image in images)
    if unlabelled:
        notes.append(f"{unlabelled} images have no label file: they are without objects.")
    return Layout((*images, *_without_image(images, folders)), tuple(notes))


def label_paths(image: str) -> list[str]:
    """List where the label file of an image may be.

    >>> label_paths("a/images/train/1.jpg")
    ['a/labels/train/1.txt', 'a/images/train/1.txt']
    """
    folder, name = posixpath.dirname(image), f"{stem(image)}.txt"
    parts = folder.split("/")
    places = [folder]
    if "images" in parts:
        last = len(parts) - 1 - parts[::-1].index("images")
        places.insert(0, "/".join([*parts[:last], "labels", *parts[last + 1 :]]))
    return [files.join(place, name) for place in places]


class _Folders:
    """What lies in folders, each listed once: asking file by file is slow if they are far."""

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str]] = {}

    def names(self, folder: str) -> frozenset[str]:
        """Give the names in a folder; none if there is no such folder."""
        if folder not in self._names:
            there = files.is_folder(folder)
            self._names[folder] = frozenset(files.list_folder(folder) if there else ())
        return self._names[folder]

    def label_of(self, image: str) -> str:
        """Find an image's label file; "" if it has none."""
        for path in label_paths(image):
            folder, name = posixpath.split(path)
            if name in self.names(folder):
                return path
        return ""

    def holds_labels(self, image: str) -> bool:
        """Tell whether label files of other images lie where this image's would."""
        beside, *elsewhere = reversed(label_paths(image))
        if any(self.names(posixpath.dirname(path)) for path in elsewhere):
            return True
        names = self.names(posixpath.dirname(beside))
        return any(f"{stem(name)}.txt" in names for name in names if is_image(name))


def _listed(settings: Settings, folders: _Folders) -> tuple[list[LabelledImage], list[str]]:
    images: dict[str, LabelledImage] = {}
    notes = []
    for split in SPLITS:
        for place in settings.places(split):
            found = settings.resolve(place)
            if found is None:
                notes.append(f"{settings.path} names {place} for {split}, which does not exist.")
            for image in _images_of(found) if found else ():
                images.setdefault(image, LabelledImage(image, folders.label_of(image), split))
    return list(images.values()), notes


def _images_of(place: str) -> Iterator[str]:
    """Yield the images of a folder, or those that a text file lists."""
    if files.is_folder(place):
        yield from (files.join(place, path) for path in files.walk(place) if is_image(path))
        return
    folder = posixpath.dirname(place)
    for line in files.read_bytes(place).decode("utf-8", "replace").splitlines():
        if line.strip():
            yield files.normalise(files.join(folder, line.strip()))


def _lying_below(root: str, folders: _Folders) -> list[LabelledImage]:
    images = []
    for relative in filter(is_image, files.walk(root)):
        path = files.join(root, relative)
        label = folders.label_of(path)
        if label or folders.holds_labels(path):
            images.append(LabelledImage(path, label, named_split(relative)))
    return images


def _without_image(images: Sequence[LabelledImage], folders: _Folders) -> Iterator[LabelledImage]:
    """Yield the label files that lie among the others and belong to no image."""
    used = {image.label for image in images}
    for folder in sorted({posixpath.dirname(label) for label in used if label}):
        for name in sorted(folders.names(folder)):
            path = files.join(folder, name)
            if name.endswith(".txt") and path not in used and is_yolo(path):
                yield LabelledImage("", path, named_split(path))
