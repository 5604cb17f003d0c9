"""Models as bubbles: accuracy against time, as large as their files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from PIL import Image, ImageDraw

from holdfast.label_plates import placed_plates
from holdfast.lettering import LINE_HEIGHT, Color, text_width, write
from holdfast.pictures import Pixels, label_colors
from holdfast.prediction.compare_models import ComparedModel
from holdfast.units import bytes_text

_SIZE = (860, 520)
_FRAME = (80, 50, 820, 440)  # left, top, right, bottom
_ROOM = 44  # between the frame and where bubbles have their centers: they stay inside
_PAPER: Color = (24, 26, 30)
_INK: Color = (232, 234, 237)
_FAINT: Color = (60, 64, 72)
_TICKS = 5
_LARGEST = 34  # radius of the largest model, in pixels
_SMALLEST = 4


def draw_bubbles(models: Sequence[ComparedModel]) -> Pixels:
    """Draw mAP at 0.5 against the median latency; models without mAP stand on the axis."""
    picture = Image.new("RGB", _SIZE, _PAPER)
    pen = ImageDraw.Draw(picture)
    x = _spread([model.latency_ms_median for model in models])
    y = _spread([model.map_50 or 0.0 for model in models])
    _draw_axes(pen, x, y)
    colors = label_colors([model.model for model in models])
    largest = max(model.bytes for model in models)
    for model in sorted(models, key=lambda each: -each.bytes):
        center, radius = _place(model, x, y), _radius(model, largest)
        corners = [each + side * radius for side in (-1, 1) for each in center]
        pen.ellipse(corners, fill=colors[model.model], outline=_INK)
    _write_names(pen, models, [_place(model, x, y) for model in models], colors)
    return np.asarray(picture)


def _spread(values: Sequence[float]) -> tuple[float, float]:
    """Give the ends of an axis, with room around the values."""
    low, high = min(values), max(values)
    room = 0.15 * (high - low) or 0.1 * abs(high) or 0.1
    return max(0.0, low - room), high + room


def _place(
    model: ComparedModel, x: tuple[float, float], y: tuple[float, float]
) -> tuple[float, float]:
    left, top, right, bottom = _inner_frame()
    across = (model.latency_ms_median - x[0]) / (x[1] - x[0])
    up = ((model.map_50 or 0.0) - y[0]) / (y[1] - y[0])
    return left + across * (right - left), bottom - up * (bottom - top)


def _inner_frame() -> tuple[int, int, int, int]:
    left, top, right, bottom = _FRAME
    return left + _ROOM, top + _ROOM, right - _ROOM, bottom - _ROOM


def _draw_axes(pen: ImageDraw.ImageDraw, x: tuple[float, float], y: tuple[float, float]) -> None:
    left, _, right, bottom = _FRAME
    first, highest, last, lowest = _inner_frame()
    for index in range(_TICKS + 1):
        share = index / _TICKS
        row, column = lowest - share * (lowest - highest), first + share * (last - first)
        pen.line([(left, row), (right, row)], fill=_FAINT)
        write(pen, (14, row - LINE_HEIGHT / 2), f"{y[0] + share * (y[1] - y[0]):.3f}", _INK)
        text = f"{x[0] + share * (x[1] - x[0]):.3g}"
        write(pen, (column - text_width(text) / 2, bottom + 6), text, _INK)
    write(pen, (14, 18), "mAP at IoU 0.5; a bubble's area is the model's size", _INK)
    label = "median latency of one image, in ms"
    write(pen, (right - text_width(label), bottom + 6 + LINE_HEIGHT), label, _INK)


def _write_names(
    pen: ImageDraw.ImageDraw,
    models: Sequence[ComparedModel],
    centers: Sequence[tuple[float, float]],
    colors: Mapping[str, Color],
) -> None:
    """Write each name at its bubble, beside the others, on ground of its own."""
    largest = max(model.bytes for model in models)
    frames = []
    for model, (column, row) in zip(models, centers, strict=True):
        radius = _radius(model, largest)
        sides = (column - radius, row - radius, column + radius, row + radius)
        frames.append((round(sides[0]), round(sides[1]), round(sides[2]), round(sides[3])))
    names = [f"{model.model} ({bytes_text(model.bytes)})" for model in models]
    for plate, model in zip(placed_plates(frames, names, _SIZE), models, strict=True):
        pen.rectangle(plate.frame, fill=_PAPER, outline=colors[model.model])
        write(pen, (plate.frame[0] + 3, plate.frame[1] + 1), plate.text, _INK)


def _radius(model: ComparedModel, largest: int) -> float:
    return max(_SMALLEST, _LARGEST * math.sqrt(model.bytes / largest))
