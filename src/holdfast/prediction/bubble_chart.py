"""Models as bubbles: accuracy against time, as large as their files."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw

from holdfast.lettering import LINE_HEIGHT, Color, text_width, write
from holdfast.pictures import Pixels, label_colors
from holdfast.prediction.compare_models import ComparedModel
from holdfast.units import bytes_text

_SIZE = (860, 520)
_FRAME = (80, 50, 820, 440)  # left, top, right, bottom
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
        center = _place(model, x, y)
        radius = max(_SMALLEST, _LARGEST * math.sqrt(model.bytes / largest))
        corners = [each + side * radius for side in (-1, 1) for each in center]
        pen.ellipse(corners, fill=colors[model.model], outline=_INK)
    for model in models:
        _write_name(pen, model, _place(model, x, y))
    return np.asarray(picture)


def _spread(values: Sequence[float]) -> tuple[float, float]:
    """Give the ends of an axis, with room around the values."""
    low, high = min(values), max(values)
    room = 0.15 * (high - low) or 0.1 * abs(high) or 0.1
    return max(0.0, low - room), high + room


def _place(
    model: ComparedModel, x: tuple[float, float], y: tuple[float, float]
) -> tuple[float, float]:
    left, top, right, bottom = _FRAME
    across = (model.latency_ms_median - x[0]) / (x[1] - x[0])
    up = ((model.map_50 or 0.0) - y[0]) / (y[1] - y[0])
    return left + across * (right - left), bottom - up * (bottom - top)


def _draw_axes(pen: ImageDraw.ImageDraw, x: tuple[float, float], y: tuple[float, float]) -> None:
    left, top, right, bottom = _FRAME
    for index in range(_TICKS + 1):
        share = index / _TICKS
        row, column = bottom - share * (bottom - top), left + share * (right - left)
        pen.line([(left, row), (right, row)], fill=_FAINT)
        write(pen, (14, row - LINE_HEIGHT / 2), f"{y[0] + share * (y[1] - y[0]):.3f}", _INK)
        text = f"{x[0] + share * (x[1] - x[0]):.3g}"
        write(pen, (column - text_width(text) / 2, bottom + 6), text, _INK)
    write(pen, (14, 18), "mAP at IoU 0.5; a bubble's area is the model's size", _INK)
    label = "median latency of one image, in ms"
    write(pen, (right - text_width(label), bottom + 6 + LINE_HEIGHT), label, _INK)


def _write_name(
    pen: ImageDraw.ImageDraw, model: ComparedModel, center: tuple[float, float]
) -> None:
    text = f"{model.model} ({bytes_text(model.bytes)})"
    width = text_width(text)
    left = min(max(center[0] - width / 2, 4), _SIZE[0] - width - 4)
    write(pen, (left, center[1] - LINE_HEIGHT / 2), text, _INK)
