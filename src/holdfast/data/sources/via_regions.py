"""The regions of the VGG Image Annotator: their shapes, and which attribute is the class."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.data.sources.annotated_objects import Box
from holdfast.data.sources.drawings import (
    Drawing,
    draw_box,
    draw_ellipse,
    draw_line,
    draw_polygon,
    to_number,
)
from holdfast.errors import HoldfastError

Item = Mapping[str, Any]  # an object of the JSON file

ONLY_CLASS = "object"  # what regions without any attribute are called
# What people call the attribute that holds the class, the surest word first.
_CLASS_WORDS = (
    *("class", "classname", "classes", "label", "labels", "labelname", "category", "categories"),
    *("categoryname", "name", "names", "object", "objectname", "objects", "type", "types", "kind"),
)
_KNOWN = ("rect", "polygon", "circle", "ellipse", "polyline", "point")


class ViaRegion(NamedTuple):
    """A region as the file gives it."""

    shape: Item
    attributes: Item
    options: Item  # attribute -> option -> what the project says it means


def choose_attributes(regions: Iterable[ViaRegion]) -> tuple[str, ...]:
    """Find the attribute that holds the class; () if no region has any attribute at all.

    It is the only one that is filled in, or the one that is called class, label, name or alike.
    Spellings such as `Class` and `class` are one attribute.
    """
    filled: dict[str, None] = {}
    for region in regions:
        for name in region.attributes:
            if values_of(region, [name]):
                filled[name] = None
    spellings: dict[str, list[str]] = {}
    for name in filled:
        spellings.setdefault(_plain(name), []).append(name)
    if len(spellings) <= 1:
        return tuple(filled)
    for word in _CLASS_WORDS:
        if word in spellings:
            return tuple(spellings[word])
    names = ", ".join(map(repr, filled))
    raise HoldfastError(
        f"Regions have more than one attribute, and none is called `class`: {names}.",
        fix="Rename the attribute that holds the class to `class`.",
    )


def values_of(region: ViaRegion, names: Sequence[str]) -> list[str]:
    """Give what is chosen for an attribute; of checkboxes there may be several."""
    found: list[str] = []
    for name in names:
        value = region.attributes.get(name)
        if isinstance(value, Mapping):
            chosen = [str(option) for option, on in value.items() if on]
        elif isinstance(value, list):
            chosen = [str(one) for one in value]
        else:
            chosen = [] if value is None else [str(value)]
        meanings = region.options.get(name)
        found += [_meaning(one.strip(), meanings) for one in chosen if one.strip()]
    return list(dict.fromkeys(found))


def draw_region(shape: Item, label: str) -> Drawing:
    """Draw a region; HoldfastError says what is wrong with it."""
    match shape.get("name"):
        case "rect":
            x, y, width, height = _numbers(shape, "x", "y", "width", "height")
            return draw_box(label, Box(y, x, y + height, x + width))
        case "circle":
            x, y, radius = _numbers(shape, "cx", "cy", "r")
            return draw_ellipse(label, (x, y), (radius, radius))
        case "ellipse":
            x, y, across, down = _numbers(shape, "cx", "cy", "rx", "ry")
            turn = math.degrees(to_number(shape.get("theta", 0.0)))
            return draw_ellipse(label, (x, y), (across, down), degrees=turn)
        case "polygon":
            return draw_polygon(label, _points(shape))
        case "polyline":
            return draw_line(label, _points(shape))
        case "point":
            return draw_line(label, np.array([_numbers(shape, "cx", "cy")]))
    raise HoldfastError(f"It is a {shape.get('name')!r}; known are {', '.join(_KNOWN)}.")


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def _meaning(option: str, meanings: Any) -> str:
    """Replace an option that is only numbered by what the project says it means."""
    if option.isdecimal() and isinstance(meanings, Mapping):
        return str(meanings.get(option) or option).strip()
    return option


def _numbers(shape: Item, *names: str) -> list[float]:
    return [to_number(shape.get(name)) for name in names]


def _points(shape: Item) -> NDArray[np.float64]:
    across, down = shape.get("all_points_x"), shape.get("all_points_y")
    if not isinstance(across, list) or not isinstance(down, list) or len(across) != len(down):
        raise HoldfastError("all_points_x and all_points_y are not lists of the same length.")
    pairs = [[to_number(x), to_number(y)] for x, y in zip(across, down, strict=True)]
    return np.array(pairs).reshape(-1, 2)
