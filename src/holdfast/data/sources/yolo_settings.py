"""What a YOLO data set says about itself: data.yaml, or a file of class names."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from holdfast.data.records import data_files
from holdfast.data.sources.yolo_labels import KeypointShape
from holdfast.errors import HoldfastError

_NAME_FILES = ("classes.txt", "obj.names", "_darknet.labels")
_OTHER_KEYS = {"val": ("valid", "validation")}


class Settings(NamedTuple):
    """A data.yaml with the folder it lies in; without one, no values."""

    folder: str
    path: str | None
    values: Mapping[str, Any]

    @property
    def keypoint_shape(self) -> KeypointShape | None:
        """How many keypoints an object has; None if the data has no keypoints."""
        match self.values.get("kpt_shape"):
            case None:
                return None
            case [int(count), (2 | 3) as numbers] if count > 0:
                return KeypointShape(count, numbers)
        raise HoldfastError(f"{self.path}: kpt_shape must be [number of keypoints, 2 or 3].")

    def places(self, split: str) -> list[str]:
        """List the folders and files that hold the images of a split, as they are written."""
        keys = (split, *_OTHER_KEYS.get(split, ()))
        for value in (self.values.get(key) for key in keys):
            if value:
                return [str(place) for place in (value if isinstance(value, list) else [value])]
        return []

    def resolve(self, place: str) -> str | None:
        """Find a place: below `path`, below the file's own folder, or without a leading `../`.

        `path` is often that of another computer, and Roboflow writes ../train/images for what
        lies beside data.yaml.
        """
        below = str(self.values.get("path") or "")
        bases = [data_files.join(self.folder, data_files.expand(below)), self.folder]
        names = (data_files.expand(place), place.removeprefix("../"))
        paths = (
            data_files.normalize(data_files.join(base, name)) for name in names for base in bases
        )
        return next((path for path in paths if data_files.exists(path)), None)


def read_settings(location: str) -> Settings:
    """Read the data.yaml that is given or that lies in the folder or one level down."""
    if not data_files.is_folder(location):
        return _parse(location)
    paths = _near(location, (".yaml", ".yml"))
    found = [settings for settings in map(_parse_or_skip, paths) if "names" in settings.values]
    named_so = [one for one in found if posixpath.basename(one.path or "") == "data.yaml"]
    if len(found) > 1 and len(named_so) != 1:
        names = " and ".join(str(one.path) for one in found[:2])
        raise HoldfastError(f"{names} both name classes.", fix="Give the one you mean as SOURCE.")
    return next(iter(named_so or found), Settings(location, None, {}))


def names_classes(path: str) -> bool:
    """Tell whether a YAML file names classes, as data.yaml does."""
    try:
        return "names" in _parse(path).values
    except HoldfastError:
        return posixpath.basename(path) == "data.yaml"


def read_names(settings: Settings, location: str) -> dict[int, str]:
    """Give class -> name, 0-based, from data.yaml or else a file with a name a line; or {}."""
    match settings.values.get("names"):
        case dict(names) if all(str(number).isdecimal() for number in names):
            return {int(number): str(name) for number, name in names.items()}
        case list(names):
            return dict(enumerate(map(str, names)))
        case dict() | str():
            raise HoldfastError(
                f"{settings.path}: `names` is neither a list of names nor numbers with names.",
                fix="Write it as names: [cat, dog], or as names: {0: cat, 1: dog}.",
            )
    folder = settings.folder if settings.path else location
    paths = [path for path in _near(folder, (".txt", ".names", ".labels")) if _holds_names(path)]
    texts = {data_files.read_bytes(path).decode("utf-8-sig", "replace") for path in paths}
    if len(texts) > 1:
        fix = "Leave one, or write a data.yaml with `names`."
        raise HoldfastError(f"{' and '.join(paths)} name different classes.", fix=fix)
    lines = next(iter(texts), "").splitlines()
    return {number: line.strip() for number, line in enumerate(lines) if line.strip()}


def _parse(path: str) -> Settings:
    try:
        values = yaml.safe_load(data_files.read_bytes(path))
    except yaml.YAMLError as error:
        raise HoldfastError(f"{path} is not valid YAML: {error}.") from None
    folder = posixpath.dirname(path) or "."
    return Settings(folder, path, values if isinstance(values, dict) else {})


def _parse_or_skip(path: str) -> Settings:
    """Read a YAML file; one that is not called data.yaml need not be of this data set."""
    try:
        return _parse(path)
    except HoldfastError:
        if posixpath.basename(path) == "data.yaml":
            raise
        return Settings(posixpath.dirname(path), path, {})


def _holds_names(path: str) -> bool:
    name = posixpath.basename(path).lower()
    return name in _NAME_FILES or name.endswith(".names")


def _near(folder: str, endings: tuple[str, ...]) -> list[str]:
    """List files with such an ending in a folder and one level down."""
    places: Sequence[str] = [
        data_files.join(folder, name) for name in data_files.list_folder(folder)
    ]
    below = (
        data_files.join(place, name)
        for place in places
        if data_files.is_folder(place)
        for name in data_files.list_folder(place)
    )
    return [path for path in (*places, *below) if path.lower().endswith(endings)]
