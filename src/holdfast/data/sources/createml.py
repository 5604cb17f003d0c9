"""CreateML JSON: a list of images with boxes given by their centers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from holdfast.data.sources.annotated_objects import Box
from holdfast.data.sources.data_folder import DataFolder, open_folder
from holdfast.data.sources.drawings import Drawing, draw_box, to_number
from holdfast.data.sources.exports import DrawnImage, Export, build_source
from holdfast.data.sources.image_files import Size
from holdfast.data.sources.json_file import parse_json
from holdfast.data.sources.sniff_tools import is_createml
from holdfast.data.sources.source import Source
from holdfast.data.sources.source_formats import DEFAULTS, OpenOptions, ending, source_format
from holdfast.data.splitting.split_names import named_split
from holdfast.errors import HoldfastError

_IMAGE_KEYS = ("image", "imagefilename", "imageFilename", "filename")
_LIST_KEYS = ("annotations", "annotation")
_WHOLE_IMAGE = Size(1, 1)


@source_format("createml", title="CreateML JSON", candidates=ending(".json"), is_one=is_createml)
def open_createml(location: str, options: OpenOptions = DEFAULTS) -> Source:
    """Open CreateML JSON files; classes are numbered by the alphabet.

    Coordinates are pixels from the top left corner, and x and y the center of a box, as CreateML
    takes them by default. If no box of the data is wider or higher than 1, they are shares of the
    image: the file does not say.
    """
    folder = open_folder(location, ending(".json"), is_createml)
    images = [image for path in folder.annotations for image in _images(folder, path)]
    if not images:
        raise HoldfastError(f"{location} has no images in CreateML annotations (JSON files).")
    notes: tuple[str, ...] = ()
    if _are_shares(images):
        notes = ("No coordinate is above 1: they are taken as shares of the image, not pixels.",)
        images = [replace(image, unit=_WHOLE_IMAGE) for image in images]
    export = Export(images=tuple(images), notes=notes)
    finder = folder.images(options.images)
    return build_source(export, finder, form="createml", location=location, masks=options.masks)


def _images(folder: DataFolder, path: str) -> Iterator[DrawnImage]:
    content = folder.read(path)
    fingerprint = hashlib.sha256(content).hexdigest()
    parsed = parse_json(content, path)
    if not isinstance(parsed, list):
        raise HoldfastError(f"{path} is not a CreateML file: a JSON list of images.")
    for index, item in enumerate(parsed):
        name = _first(item, _IMAGE_KEYS) if isinstance(item, dict) else None
        if not name or not isinstance(name, str):
            raise HoldfastError(f"{path}: [{index}] names no image under `image`.")
        drawings, problem = _draw(_first(item, _LIST_KEYS) or [])
        yield DrawnImage(
            names=(name.strip(),),
            annotation=path,
            place=f"{path}, [{index}] ({name})",
            drawings=drawings,
            split=named_split(path, by_name=True),
            fingerprint=fingerprint,
            problem=problem,
        )


def _first(item: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((item[key] for key in keys if key in item), None)


def _draw(annotations: Any) -> tuple[tuple[Drawing, ...], HoldfastError | None]:
    """Draw the boxes of an image, or say why that is not possible."""
    if not isinstance(annotations, list):
        return (), HoldfastError("Its annotations are not a list.")
    drawings = []
    for index, item in enumerate(annotations):
        label = str(item.get("label", "")).strip() if isinstance(item, dict) else ""
        if not label:
            return (), HoldfastError(f"annotations[{index}] has no label.")
        drawings.append(draw_box(label, _box(item.get("coordinates"))))
    return tuple(drawings), None


def _box(coordinates: Any) -> Box:
    """Give the corners of a box; NaN where a number is missing, for the checks to find."""
    found = coordinates if isinstance(coordinates, dict) else {}
    x, y, width, height = (to_number(found.get(key)) for key in ("x", "y", "width", "height"))
    return Box(y - height / 2, x - width / 2, y + height / 2, x + width / 2)


def _are_shares(images: Sequence[DrawnImage]) -> bool:
    """Tell whether all boxes have center and size within 1: nobody draws such boxes in pixels."""
    corners = [corner for image in images for one in image.drawings for corner in one.box]
    return bool(corners) and all(-0.5 <= corner <= 1.5 for corner in corners)
