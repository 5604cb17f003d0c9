"""What the tests of formats compare: the boxes of each image in pixels, as a source reads them."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image

from holdfast.data.sources.source import Source
from holdfast.errors import HoldfastError

Boxes = dict[str, list[tuple[Any, ...]]]  # image -> class, left, top, right, bottom


def read_boxes(source: Source) -> Boxes:
    """Read every image that can be read, by its source id."""
    names = {item.id - 1: item.name for item in source.label_map.item}
    found: Boxes = {}
    for entry in source.entries:
        try:
            sample = entry.read().sample
        except HoldfastError:
            continue
        width, height = Image.open(io.BytesIO(sample.image)).size
        found[entry.source_id] = [
            (names[number], left * width, top * height, right * width, bottom * height)
            for number, (top, left, bottom, right) in zip(
                sample.classes.tolist(), sample.boxes.tolist(), strict=True
            )
        ]
    return found


def problems(source: Source) -> dict[str, str]:
    """Say why each of the other images cannot be read, by its place."""
    return dict(_problems(source))


def assert_same(found: Boxes, expected: Boxes, tolerance: float = 1e-3) -> None:
    """Compare what was read with what another parser reads, in the order of the file."""
    assert found.keys() == expected.keys()
    for name, boxes in expected.items():
        labels = [box[0] for box in found[name]]
        assert labels == [box[0] for box in boxes], f"{name}: {labels}"
        for one, other in zip(found[name], boxes, strict=True):
            same = one[1:] == pytest.approx(other[1:], abs=tolerance, nan_ok=True)
            assert same, f"{name}: {one} is not {other}"


def hull_of_turned_box(
    box: tuple[float, float, float, float], degrees: float, pivot: tuple[float, float]
) -> tuple[float, float, float, float]:
    """Turn the corners of left, top, right, bottom clockwise by complex numbers; y points down."""
    left, top, right, bottom = box
    turn = complex(math.cos(math.radians(degrees)), math.sin(math.radians(degrees)))
    corners = [complex(x, y) for x in (left, right) for y in (top, bottom)]
    turned = [(corner - complex(*pivot)) * turn + complex(*pivot) for corner in corners]
    across, down = [corner.real for corner in turned], [corner.imag for corner in turned]
    return min(across), min(down), max(across), max(down)


def hull_of_ellipse(
    center: tuple[float, float], radii: tuple[float, float], degrees: float
) -> tuple[float, float, float, float]:
    """Walk around an ellipse in small steps and keep the farthest points."""
    turn = complex(math.cos(math.radians(degrees)), math.sin(math.radians(degrees)))
    steps = [math.tau * step / 20_000 for step in range(20_000)]
    around = [complex(radii[0] * math.cos(a), radii[1] * math.sin(a)) * turn for a in steps]
    across = [center[0] + point.real for point in around]
    down = [center[1] + point.imag for point in around]
    return min(across), min(down), max(across), max(down)


def _problems(source: Source) -> Iterator[tuple[str, str]]:
    for entry in source.entries:
        try:
            entry.read()
        except HoldfastError as error:
            yield entry.place, error.message
