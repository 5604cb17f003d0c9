"""YOLO text labels: boxes, polygons and keypoints, with or without data.yaml."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from holdfast.data.records import data_files
from holdfast.data.sources.annotated_objects import build_sample
from holdfast.data.sources.classes import build_classes
from holdfast.data.sources.data_folder import open_folder
from holdfast.data.sources.image_files import take_picture
from holdfast.data.sources.lookup import ImageFinder, is_image
from holdfast.data.sources.sniff import is_yolo
from holdfast.data.sources.source import Entry, Reading, Source, shortest_names
from holdfast.data.sources.source_formats import DEFAULTS, OpenOptions, Paths, ending, source_format
from holdfast.data.sources.yolo_labels import (
    KeypointShape,
    box_area,
    parse_labels,
    to_object,
)
from holdfast.data.sources.yolo_layout import LabeledImage, find_layout, label_paths
from holdfast.data.sources.yolo_settings import Settings, names_classes, read_names, read_settings
from holdfast.errors import HoldfastError
from holdfast.units import count_text


class _Reader(NamedTuple):
    """What reading one image needs to know about the whole data set."""

    shape: KeypointShape | None
    masks: bool


class _Labels(NamedTuple):
    """A label file, looked at once."""

    class_counts: Counter[int]
    boxes: int  # objects without outline
    box_areas: tuple[float, ...]
    fingerprint: str


def label_files(paths: Paths) -> list[str]:
    """Keep the text files that lie where an image's labels would, and what may be a data.yaml.

    Where there are no images at all, they lie elsewhere: any text file may be a label file.
    """
    texts = ending(".txt")(paths)
    if any(map(is_image, paths)):
        places = {place for path in paths if is_image(path) for place in label_paths(path)}
        texts = [path for path in texts if path in places]
    return [*texts, *ending(".yaml", ".yml")(paths)]


def is_label_file(path: str) -> bool:
    """Tell whether a file holds YOLO labels, or is a data.yaml."""
    return names_classes(path) if path.lower().endswith((".yaml", ".yml")) else is_yolo(path)


@source_format("yolo", title="YOLO text", candidates=label_files, is_one=is_label_file)
def open_yolo(location: str, options: OpenOptions = DEFAULTS) -> Source:
    """Open a folder of YOLO labels, or a data.yaml; class n gets the label-map id n + 1.

    An image is called by its file name, or by its path where names repeat. An image without label
    file is one without objects. Classes without name are called class_0, class_1, …
    """
    settings = read_settings(location)
    root = location if data_files.is_folder(location) else settings.folder
    layout = find_layout(root, settings, _images_elsewhere(root, options.images))
    if not layout.images:
        fix = "Labels lie beside the images, or in `labels` where the images are in `images`."
        raise HoldfastError(f"{location} has no images with YOLO labels.", fix=fix)
    labels = [_look(image.label, settings.keypoint_shape) for image in layout.images]
    names, notes = _name_classes(read_names(settings, location), labels)
    shape = settings.keypoint_shape
    classes = build_classes(names, _keypoint_names(settings, names) if shape else None)
    outlined, outline_notes = _outlines(labels)
    reader = _Reader(shape, options.masks and outlined)
    return Source(
        format="yolo",
        location=location,
        label_map=classes.label_map,
        entries=tuple(_entries(reader, root, layout.images, labels)),
        masks=reader.masks,
        notes=(*layout.notes, *notes, *classes.notes, *(outline_notes if options.masks else ())),
    )


def _images_elsewhere(root: str, folder: str | None) -> ImageFinder | None:
    return open_folder(root, label_files, is_yolo).images(folder) if folder else None


def _look(path: str, shape: KeypointShape | None) -> _Labels:
    content = data_files.read_bytes(path) if path else b""
    try:
        objects = parse_labels(content, shape)
    except HoldfastError:  # told again when the image is read, which names it
        objects = []
    return _Labels(
        class_counts=Counter(item.class_index for item in objects),
        boxes=sum(not item.is_polygon for item in objects),
        box_areas=tuple(map(box_area, objects)),
        fingerprint=hashlib.sha256(content).hexdigest(),
    )


def _name_classes(
    names: dict[int, str], labels: Sequence[_Labels]
) -> tuple[dict[int, str], list[str]]:
    """Give label-map id -> name; without names, for the classes that are used."""
    counts = sum((item.class_counts for item in labels), Counter[int]())
    used = sorted(counts)
    if names:
        return {number + 1: name for number, name in names.items()}, _without_name(names, counts)
    called = {number + 1: f"class_{number}" for number in used}
    where = "no data.yaml, classes.txt or obj.names"
    return called, [f"There is {where}: the classes are named {', '.join(called.values())}."]


def _without_name(names: Mapping[int, str], counts: Mapping[int, int]) -> list[str]:
    """Say which classes of the labels have no name, though others do."""
    lacking = sorted(counts.keys() - names.keys())
    if not lacking:
        return []
    boxes = count_text(sum(counts[number] for number in lacking), "box", "boxes")
    which = f"class {', '.join(map(str, lacking[:10]))}"
    return [f"Only classes {min(names)} to {max(names)} have names: {boxes} of {which} left out."]


def _keypoint_names(settings: Settings, names: dict[int, str]) -> dict[int, list[str]]:
    """Name the keypoints: `kpt_names` of data.yaml (class -> names), or by number."""
    shape = settings.keypoint_shape
    numbered = [f"keypoint_{index + 1}" for index in range(shape.points if shape else 0)]
    given = settings.values.get("kpt_names")
    by_class = given if isinstance(given, dict) else {}
    points = {number: by_class.get(number - 1) or numbered for number in names}
    same = len({tuple(map(str, chosen)) for chosen in points.values()}) == 1
    fits = all(len(chosen) == len(numbered) for chosen in points.values())
    # Lines give keypoints by place, so classes with other names at a place are told by number.
    return points if same and fits else dict.fromkeys(names, numbered)


def _outlines(labels: Sequence[_Labels]) -> tuple[bool, list[str]]:
    """Tell whether the data has masks at all, and how many objects are without."""
    objects = sum(item.class_counts.total() for item in labels)
    boxes = sum(item.boxes for item in labels)
    if boxes == objects:
        return False, []
    note = f"{boxes} of {objects} objects have no outline: their masks are empty."
    return True, [note] if boxes else []


def _entries(
    reader: _Reader, root: str, images: Sequence[LabeledImage], labels: Sequence[_Labels]
) -> Iterator[Entry]:
    relative = [_below(root, image.image or image.label) for image in images]
    for image, found, path, source_id in zip(
        images, labels, relative, shortest_names(relative), strict=True
    ):
        yield Entry(
            source_id=source_id,
            place=_below(root, image.label) if image.label else path,
            filename=path.rpartition("/")[2],
            read=partial(_read, reader, image, source_id),
            split=image.split,
            class_counts=found.class_counts,
            box_areas=found.box_areas,
            fingerprint=found.fingerprint,
            image_path=image.image,
        )


def _below(root: str, path: str) -> str:
    return path.removeprefix(root.rstrip("/") + "/")


def _read(reader: _Reader, image: LabeledImage, source_id: str) -> Reading:
    if not image.image:
        raise HoldfastError("There is no image for this label file.")
    lines = parse_labels(data_files.read_bytes(image.label), reader.shape) if image.label else []
    picture = take_picture(data_files.read_bytes(image.image))
    sample = build_sample(
        source_id,
        picture,
        [to_object(line, picture.size) for line in lines],
        masks=reader.masks,
        num_keypoints=reader.shape.points if reader.shape else 0,
    )
    return Reading(sample, picture.remarks)
