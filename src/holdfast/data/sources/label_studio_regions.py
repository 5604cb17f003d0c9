"""The regions of a Label Studio annotation, put together and drawn."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from holdfast.data.sources.annotated_objects import Box
from holdfast.data.sources.drawings import (
    Drawing,
    draw_box,
    draw_ellipse,
    draw_line,
    draw_polygon,
    to_number,
    to_points,
    to_size,
)
from holdfast.data.sources.image_files import Size
from holdfast.errors import HoldfastError

Item = Mapping[str, Any]  # an object of the JSON file

PERCENT = Size(100, 100)
NO_LABEL = "Regions without a label"
SEVERAL_LABELS = "Regions of more than one label"
BRUSH = "Regions drawn with the brush"
OTHER = "Regions of other kinds"
_KINDS = ("rectangle", "polygon", "ellipse", "keypoint", "brush", "vector")
_LABELS = (*(f"{kind}labels" for kind in _KINDS), "labels")


class LabelStudioRegion(NamedTuple):
    """A shape in percent of the image, and its labels."""

    value: Item
    labels: tuple[str, ...]
    size: Size | None  # of the image; None if the region does not say
    turned: bool  # whether the image was turned while it was labeled


class DrawnRegion(NamedTuple):
    """The drawings of an annotation and the units they are in."""

    drawings: tuple[Drawing, ...]
    size: Size | None  # of the image as the annotation gives it
    unit: Size  # how far the drawings' coordinates go


def read_regions(results: Sequence[Any]) -> list[LabelStudioRegion]:
    """Put together what a full export says about each region.

    Labels, choices and texts of a region are results of their own with the same id.
    """
    groups: dict[str, list[Item]] = {}
    for index, result in enumerate(results):
        if isinstance(result, dict) and isinstance(result.get("value"), dict):
            groups.setdefault(str(result.get("id") or index), []).append(result)
    regions = []
    for group in groups.values():
        shapes = [result for result in group if _is_shape(result["value"])]
        labels = dict.fromkeys(label for result in group for label in _labels(result["value"]))
        if shapes:
            regions.append(_region(shapes[0], shapes[0]["value"], tuple(labels)))
    return regions


def read_min_regions(values: Iterable[Any]) -> list[LabelStudioRegion]:
    """Read the regions of JSON-MIN, where shape, labels and image size are one object."""
    return [
        _region(value, value, tuple(_labels(value)))
        for value in values
        if isinstance(value, dict) and _is_shape(value)
    ]


def draw_regions(regions: Sequence[LabelStudioRegion], remarks: Counter[str]) -> DrawnRegion:
    """Draw the regions that have a label; remarks counts what is not as it should be."""
    size = next((region.size for region in regions if region.size), None)
    unit = size or PERCENT
    drawings = []
    for region in regions:
        if region.turned:
            raise HoldfastError("It was rotated in the labeling tool, which is not supported.")
        if not region.labels:
            remarks[NO_LABEL] += 1
            continue
        remarks[SEVERAL_LABELS] += len(region.labels) > 1
        if drawing := _draw(region, unit):
            drawings.append(drawing)
        else:
            remarks[BRUSH if "rle" in region.value else OTHER] += 1
    return DrawnRegion(tuple(drawings), size, unit)


def _is_shape(value: Item) -> bool:
    return any(key in value for key in ("x", "points", "rle", "sequence"))


def _labels(value: Item) -> list[str]:
    lists = [value[name] for name in _LABELS if isinstance(value.get(name), list)]
    return [text for labels in lists for label in labels if (text := str(label).strip())]


def _region(outer: Item, value: Item, labels: tuple[str, ...]) -> LabelStudioRegion:
    size = to_size(outer.get("original_width"), outer.get("original_height"))
    turned = to_number(outer.get("image_rotation") or 0) % 360 != 0
    return LabelStudioRegion(value, labels, size if min(size) > 0 else None, turned)


def _draw(region: LabelStudioRegion, unit: Size) -> Drawing | None:
    """Draw a region in the given units; None if its kind is not known."""
    value, label = region.value, region.labels[0]

    def across(name: str) -> float:
        return to_number(value.get(name)) / 100 * unit.width

    def down(name: str) -> float:
        return to_number(value.get(name)) / 100 * unit.height

    degrees = to_number(value.get("rotation") or 0.0)
    if degrees and region.size is None:
        raise HoldfastError(
            "A region is rotated, but original_width and original_height are missing."
        )
    if "radiusX" in value:
        center, radii = (across("x"), down("y")), (across("radiusX"), down("radiusY"))
        return draw_ellipse(label, center, radii, degrees=degrees)
    if "height" in value and "width" in value and "keypointlabels" not in value:
        x, y = across("x"), down("y")
        box = Box(y, x, y + down("height"), x + across("width"))
        return draw_box(label, box, degrees=degrees, around_corner=True)
    if "points" in value:
        return draw_polygon(label, to_points(value["points"]) * unit / 100)
    if math.isfinite(across("x")) and math.isfinite(down("y")):
        return draw_line(label, np.array([[across("x"), down("y")]]))
    return None
