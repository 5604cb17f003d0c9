"""CVAT XML 1.1: image tasks, video tasks with tracks, and whole projects."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from holdfast.data.sources.classes import union
from holdfast.data.sources.cvat_frames import NO_TASK, Task, find_frames, read_tasks
from holdfast.data.sources.cvat_shapes import SHAPES, draw, is_outside
from holdfast.data.sources.data_folder import DataFolder, open_folder
from holdfast.data.sources.drawings import Drawing, to_number, to_size
from holdfast.data.sources.exports import DrawnImage, Export, build_source, split_called
from holdfast.data.sources.lookup import ImageFinder
from holdfast.data.sources.sniff_tools import is_cvat
from holdfast.data.sources.source import Source
from holdfast.data.sources.source_formats import DEFAULTS, OpenOptions, ending, source_format
from holdfast.data.splitting.split_names import named_split
from holdfast.errors import HoldfastError


class _File(NamedTuple):
    """An XML file as parsed."""

    path: str
    root: Element
    tasks: dict[str, Task]  # by id
    fingerprint: str


_LAST_FRAME = 10**9
_Shape = tuple[Element, str | None]  # an element and its label


@source_format("cvat", title="CVAT XML", candidates=ending(".xml"), is_one=is_cvat)
def open_cvat(location: str, options: OpenOptions = DEFAULTS) -> Source:
    """Open CVAT XML files, exported for images or for video.

    Classes are numbered as the labels of the task or project. Frames of a video are images that
    are called frame_000000 and so on, as CVAT exports them; objects outside of the frame are not
    there. Of rotated boxes, cuboids and skeletons the upright box around them is used.
    """
    folder = open_folder(location, ending(".xml"), is_cvat)
    finder = folder.images(options.images)
    opened = [_open(folder, path) for path in folder.annotations]
    left_out: Counter[str] = Counter()
    notes: list[str] = []
    images: list[DrawnImage] = []
    for file in opened:
        images += _images(file, left_out)
        frames, frame_notes = _frames(file, finder, left_out)
        images += frames
        notes += frame_notes
    if not images:
        raise HoldfastError(f"{location} has no images in CVAT annotations (XML files).")
    export = Export(
        images=tuple(images),
        listed=union(_labels(file.root) for file in opened),
        left_out=left_out,
        notes=tuple(notes),
    )
    return build_source(export, finder, form="cvat", location=location, masks=options.masks)


def _open(folder: DataFolder, path: str) -> _File:
    content = folder.read(path)
    try:
        root = ElementTree.fromstring(content)
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # also unknown encodings
        raise HoldfastError(f"{path} is not valid XML: {error}.") from None
    return _File(path, root, read_tasks(root), hashlib.sha256(content).hexdigest())


def _labels(root: Element) -> list[str]:
    """List the labels of objects; parts of skeletons and tags of whole images are none."""
    labels = [label for meta in root.findall("meta") for label in meta.iter("label")]
    names = [
        (label.findtext("name") or "").strip()
        for label in labels
        if not label.findtext("parent") and label.findtext("type") != "tag"
    ]
    return [name for name in names if name]


def _images(file: _File, left_out: Counter[str]) -> Iterator[DrawnImage]:
    """Read what a file says about single images."""
    for index, element in enumerate(file.root.findall("image")):
        name = (element.get("name") or "").strip()
        if not name:
            raise HoldfastError(f"{file.path}: <image> number {index + 1} has no name.")
        left_out.update(_not_objects(element))
        shapes = [
            (shape, shape.get("label"))
            for shape in element
            if shape.tag in SHAPES and not is_outside(shape)
        ]
        drawings, problem = _draw(shapes)
        task = file.tasks.get(element.get("task_id") or "", next(iter(file.tasks.values())))
        yield DrawnImage(
            names=(name,),
            annotation=file.path,
            place=f"{file.path}, image {element.get('id') or index} ({name})",
            drawings=drawings,
            size=to_size(element.get("width"), element.get("height")),
            split=_split(file, element.get("subset") or task.subset),
            fingerprint=file.fingerprint,
            problem=problem,
        )


def _frames(
    file: _File, finder: ImageFinder, left_out: Counter[str]
) -> tuple[list[DrawnImage], list[str]]:
    """Read what the tracks of a file say about the frames of videos; empty frames are kept."""
    images: list[DrawnImage] = []
    notes: list[str] = []
    for key, shapes in _tracked(file, left_out).items():
        task = file.tasks.get(key, NO_TASK)
        found = find_frames(task, shapes.keys(), finder.paths, file.path)
        notes += found.notes
        images += [
            _frame(file, task, number, name, shapes.get(number, ()))
            for number, name in found.names.items()
        ]
    return images, notes


def _tracked(file: _File, left_out: Counter[str]) -> dict[str, dict[int, list[_Shape]]]:
    """Sort the shapes of all tracks by task and frame; outside of the frame there is no object."""
    tasks: dict[str, dict[int, list[_Shape]]] = {}
    for track in file.root.findall("track"):
        left_out.update(_not_objects(track))
        frames = tasks.setdefault(track.get("task_id") or next(iter(file.tasks)), {})
        for shape in track:
            if shape.tag in SHAPES and not is_outside(shape):
                number = _frame_number(file, shape)
                label = shape.get("label") or track.get("label")
                frames.setdefault(number, []).append((shape, label))
    return tasks


def _frame_number(file: _File, shape: Element) -> int:
    number = to_number(shape.get("frame"))
    if not 0 <= number <= _LAST_FRAME:
        raise HoldfastError(f"{file.path}: a <{shape.tag}> of a track has no frame number.")
    return int(number)


def _frame(
    file: _File,
    task: Task,
    number: int,
    name: str,
    shapes: Sequence[_Shape],
) -> DrawnImage:
    drawings, problem = _draw(shapes)
    return DrawnImage(
        names=(name,),
        annotation=file.path,
        place=f"{file.path}, frame {number}",
        drawings=drawings,
        size=task.size,
        split=_split(file, task.subset),
        fingerprint=file.fingerprint,
        problem=problem,
    )


def _split(file: _File, subset: str) -> str | None:
    return split_called(subset) or named_split(file.path, by_name=True)


def _draw(
    shapes: Iterable[_Shape],
) -> tuple[tuple[Drawing, ...], HoldfastError | None]:
    """Draw the shapes of an image, or say why that is not possible."""
    drawings = []
    for shape, label in shapes:
        label = (label or "").strip()
        if not label:
            return (), HoldfastError(f"A <{shape.tag}> has no label.")
        try:
            drawings.append(draw(shape, label))
        except HoldfastError as error:
            return (), error
    return tuple(drawings), None


def _not_objects(element: Element) -> Iterator[str]:
    """Name the children of an image or track that mark no object."""
    for child in element:
        if child.tag == "tag":
            yield "Tags of whole images"
        elif child.tag not in (*SHAPES, "attribute"):
            yield f"<{child.tag}> elements, which are unknown"
