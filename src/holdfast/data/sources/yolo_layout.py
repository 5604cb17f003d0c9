"""How a YOLO data set lies on disk: which image has which label file and is in which split."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from holdfast.data.records import data_files
from holdfast.data.sources.lookup import ImageFinder, is_image, stem
from holdfast.data.sources.sniff import is_yolo
from holdfast.data.sources.yolo_settings import Settings
from holdfast.data.splitting.split_names import SPLITS, named_split, split_of_files
from holdfast.units import count_text


class LabeledImage(NamedTuple):
    """An image and its label file. One of them may be missing: "" then."""

    image: str
    label: str
    split: str | None


class Layout(NamedTuple):
    """All images, label files without image among them, and what a user should know."""

    images: tuple[LabeledImage, ...]
    notes: tuple[str, ...]


def find_layout(root: str, settings: Settings, elsewhere: ImageFinder | None = None) -> Layout:
    """Find the images: those that data.yaml lists, or else those that lie below the folder.

    `elsewhere` are the images of another folder, if the user names one: they alone count.
    """
    folders = _Folders()
    if elsewhere is not None:
        return _pair(root, elsewhere)
    listed, notes = _listed(settings, folders)
    images = listed or _lying_below(root, folders)
    unlabeled = sum(not image.label for image in images)
    if unlabeled:
        count = count_text(unlabeled, "image")
        notes.append(f"Without a label file, and so without objects: {count}.")
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
    return [data_files.join(place, name) for place in places]


def _pair(root: str, finder: ImageFinder) -> Layout:
    """Pair the images of a folder with the label files of another by their names."""
    labels: dict[str, str] = {}
    splits = {image: named_split(image) for image in finder.paths}
    alone = []
    for path in (path for path in data_files.walk(root) if path.lower().endswith(".txt")):
        label = data_files.join(root, path)
        image = finder.find_or_none(stem(path), path)
        if image is not None and image not in labels:
            labels[image] = label
            splits[image] = split_of_files(image, path)
        elif is_yolo(label):
            alone.append(LabeledImage("", label, named_split(path)))
    images = [
        LabeledImage(finder.path(image), labels.get(image, ""), splits.get(image))
        for image in finder.paths
    ]
    unlabeled = len(images) - len(labels)
    note = f"Without a label file, and so without objects: {count_text(unlabeled, 'image')}."
    return Layout((*images, *alone), (note,) if unlabeled else ())


class _Folders:
    """What lies in folders, each listed once: asking file by file is slow if they are far."""

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str]] = {}

    def names(self, folder: str) -> frozenset[str]:
        """Give the names in a folder; none if there is no such folder."""
        if folder not in self._names:
            there = data_files.is_folder(folder)
            self._names[folder] = frozenset(data_files.list_folder(folder) if there else ())
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


def _listed(settings: Settings, folders: _Folders) -> tuple[list[LabeledImage], list[str]]:
    images: dict[str, LabeledImage] = {}
    notes = []
    for split in SPLITS:
        for place in settings.places(split):
            found = settings.resolve(place)
            if found is None:
                notes.append(f"{settings.path} names {place} for {split}, which does not exist.")
            for image in _images_of(found) if found else ():
                images.setdefault(image, LabeledImage(image, folders.label_of(image), split))
    return list(images.values()), notes


def _images_of(place: str) -> Iterator[str]:
    """Yield the images of a folder, or those that a text file lists."""
    if data_files.is_folder(place):
        yield from (
            data_files.join(place, path) for path in data_files.walk(place) if is_image(path)
        )
        return
    folder = posixpath.dirname(place)
    for line in data_files.read_bytes(place).decode("utf-8", "replace").splitlines():
        if line.strip():
            yield data_files.normalize(data_files.join(folder, line.strip()))


def _lying_below(root: str, folders: _Folders) -> list[LabeledImage]:
    images = []
    for relative in filter(is_image, data_files.walk(root)):
        path = data_files.join(root, relative)
        label = folders.label_of(path)
        if label or folders.holds_labels(path):
            images.append(LabeledImage(path, label, named_split(relative)))
    return images


def _without_image(images: Sequence[LabeledImage], folders: _Folders) -> Iterator[LabeledImage]:
    """Yield the label files that lie among the others and belong to no image."""
    used = {image.label for image in images}
    for folder in sorted({posixpath.dirname(label) for label in used if label}):
        for name in sorted(folders.names(folder)):
            path = data_files.join(folder, name)
            if name.endswith(".txt") and path not in used and is_yolo(path):
                yield LabeledImage("", path, named_split(path))
