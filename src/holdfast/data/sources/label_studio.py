"""Label Studio JSON: the full export, tasks one by one, and JSON-MIN."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from holdfast.data.sources.data_folder import DataFolder, open_folder
from holdfast.data.sources.exports import DrawnImage, Export, build_source
from holdfast.data.sources.json_file import parse_json
from holdfast.data.sources.label_studio_regions import (
    SEVERAL_LABELS,
    Item,
    LabelStudioRegion,
    draw_regions,
    read_min_regions,
    read_regions,
)
from holdfast.data.sources.lookup import is_image
from holdfast.data.sources.sniff_tools import is_label_studio
from holdfast.data.sources.source import Source
from holdfast.data.sources.source_formats import DEFAULTS, OpenOptions, ending, source_format
from holdfast.data.splitting.split_names import named_split
from holdfast.errors import HoldfastError

_UNLABELED = "Tasks that nobody annotated"
_SEVERAL_ANNOTATIONS = "Tasks with more than one annotation"
# Label Studio puts eight hexadecimal digits before the name of an uploaded file.
_UPLOADED = re.compile(r"^[0-9a-f]{8}-(?=.)")


class _Task(NamedTuple):
    """A task with the annotation that counts; None if nobody annotated it."""

    image: str  # the address of its image; "" if it has none
    upload: str  # the name of the file that was uploaded; "" if it was not
    regions: list[LabelStudioRegion] | None


@source_format(
    "label_studio",
    title="Label Studio JSON",
    candidates=ending(".json"),
    is_one=is_label_studio,
)
def open_label_studio(location: str, options: OpenOptions = DEFAULTS) -> Source:
    """Open exports of Label Studio; classes are numbered by the alphabet.

    Of several annotations of a task the ground truth counts, or else the newest; cancelled ones and
    predictions never. Tasks that nobody annotated are left out; an annotation without a region
    says that there is no object. Images are found under their names with and without the prefix
    that Label Studio gives to uploaded files.
    """
    folder = open_folder(location, ending(".json"), is_label_studio)
    remarks: Counter[str] = Counter()
    images = [image for path in folder.annotations for image in _images(folder, path, remarks)]
    if not images:
        raise HoldfastError(f"{location} has no annotated tasks of Label Studio (JSON files).")
    chosen = (
        (SEVERAL_LABELS, "The first is used."),
        (_SEVERAL_ANNOTATIONS, "The ground truth, or else the newest, is used."),
    )
    notes = [f"{what}: {count}. {how}" for what, how in chosen if (count := remarks.pop(what, 0))]
    export = Export(images=tuple(images), left_out=+remarks, notes=tuple(notes))
    finder = folder.images(options.images)
    return build_source(export, finder, form="label_studio", location=location, masks=options.masks)


def image_names(address: str, upload: str = "") -> tuple[str, ...]:
    """Give what an image may be called on disk, best first.

    >>> image_names("/data/upload/1/3f2a1b4c-red%20car.jpg")
    ('upload/1/3f2a1b4c-red car.jpg', 'upload/1/red car.jpg')
    >>> image_names("/data/local-files/?d=set%5Ccar.jpg"), image_names("s3://cars/a/car.jpg")
    (('set/car.jpg',), ('cars/a/car.jpg',))
    """
    parts = urlsplit(address)
    local = parse_qs(parts.query).get("d", [""])[0]
    path = local or unquote(f"{parts.netloc}{parts.path}" if parts.scheme else parts.path)
    path = path.replace("\\", "/").removeprefix("/data/").strip("/")
    names = []
    for name in (path, upload if is_image(upload) else ""):
        folders, slash, last = name.rpartition("/")
        names += [name, f"{folders}{slash}{_UPLOADED.sub('', last)}"]
    return tuple(dict.fromkeys(name for name in names if name))


def _images(folder: DataFolder, path: str, remarks: Counter[str]) -> Iterator[DrawnImage]:
    content = folder.read(path)
    fingerprint = hashlib.sha256(content).hexdigest()
    for index, item in enumerate(_items(parse_json(content, path), path, remarks)):
        number = item.get("id", index)
        task = _read_full(item, remarks) if _is_full(item) else _read_min(item)
        if task.regions is None:
            remarks[_UNLABELED] += 1
            continue
        names = image_names(task.image, task.upload)
        image = DrawnImage(
            names=names or (f"task {number}",),
            annotation=path,
            place=f"{path}, task {number}" + (f" ({names[0]})" if names else ""),
            split=named_split(path, by_name=True),
            fingerprint=fingerprint,
            problem=None if names else HoldfastError("The task names no image."),
        )
        yield _draw(image, task.regions, remarks)


def _draw(
    image: DrawnImage, regions: Sequence[LabelStudioRegion], remarks: Counter[str]
) -> DrawnImage:
    try:
        drawn = draw_regions(regions, remarks)
    except HoldfastError as error:
        return replace(image, problem=error)
    return replace(image, drawings=drawn.drawings, size=drawn.size, unit=drawn.unit)


def _items(parsed: Any, path: str, remarks: Counter[str]) -> list[Item]:
    """Give the tasks of a file; cloud storages hold one annotation each, with its task inside."""
    match parsed:
        case {"result": list(), "task": dict(task)}:
            return [{**task, "annotations": [parsed]}]
        case {"data": dict()}:
            return [parsed]
        case list() if all(isinstance(item, dict) for item in parsed):
            return _newest(parsed, remarks)
    raise HoldfastError(f"{path} is not a list of Label Studio's tasks.")


def _newest(items: Sequence[Item], remarks: Counter[str]) -> list[Item]:
    """Keep of JSON-MIN, which lists a task once for each annotation, the newest of each task."""
    tasks: dict[Any, list[Item]] = {}
    for index, item in enumerate(items):
        alone = _is_full(item) or "id" not in item
        tasks.setdefault((index,) if alone else str(item["id"]), []).append(item)
    remarks[_SEVERAL_ANNOTATIONS] += sum(len(versions) > 1 for versions in tasks.values())
    return [max(versions, key=_weight) for versions in tasks.values()]


def _is_full(item: Item) -> bool:
    return isinstance(item.get("data"), dict)


def _read_full(item: Item, remarks: Counter[str]) -> _Task:
    listed = item.get("annotations") or item.get("completions")
    annotations = [
        annotation
        for annotation in (listed if isinstance(listed, list) else ())
        if isinstance(annotation, dict) and isinstance(annotation.get("result"), list)
    ]
    valid = [one for one in annotations if not (one.get("was_cancelled") or one.get("skipped"))]
    remarks[_SEVERAL_ANNOTATIONS] += len(valid) > 1
    best = max(valid, key=_weight, default=None)
    return _Task(
        image=_address(item["data"]),
        upload=str(item.get("file_upload") or ""),
        regions=None if best is None else read_regions(best["result"]),
    )


def _weight(annotation: Item) -> tuple[bool, str, str]:
    """Rank annotations of one task: ground truth first, then the newest."""
    when = [str(annotation.get(key) or "") for key in ("updated_at", "created_at")]
    return bool(annotation.get("ground_truth")), when[0] or when[1], when[1]


def _read_min(item: Item) -> _Task:
    """Read a task of JSON-MIN: its regions are the lists of objects with a shape or labels."""
    lists = [value for value in item.values() if isinstance(value, list)]
    return _Task(_address(item), "", read_min_regions(one for values in lists for one in values))


def _address(data: Item) -> str:
    """Find the address of the image: under `image`, or the only text that names an image."""
    texts = {key: value for key, value in data.items() if isinstance(value, str)}
    if "image" in texts:
        return texts["image"]
    images = [text for text in texts.values() if any(map(is_image, image_names(text)))]
    return images[0] if images else ""
