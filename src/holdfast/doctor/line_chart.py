"""A chart of a few curves as a picture, drawn without a library for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from holdfast.lettering import LINE_HEIGHT, Color, text_width, write
from holdfast.pictures import Pixels

_SIZE = (860, 480)
_MARGIN = (70, 40, 20, 60)  # left, top, right, bottom
_PAPER: Color = (24, 26, 30)
_INK: Color = (232, 234, 237)
_FAINT: Color = (60, 64, 72)
_TICKS = 6


@dataclass(frozen=True, kw_only=True)
class ChartLine:
    """One curve."""

    label: str
    color: Color
    x: Sequence[float]
    y: Sequence[float]
    is_faint: bool = False  # dots that another line sums up


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Curves with what their axes mean; marks are upright lines at places of x, with a label."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[ChartLine]
    marks: Sequence[tuple[float, str]] = ()
    log_x: bool = False
    log_y: bool = False


def draw_chart(chart: Chart) -> Pixels:
    """Draw the chart; values that an axis cannot show (not finite, or 0 on a log axis) are not."""
    picture = Image.new("RGB", _SIZE, _PAPER)
    pen = ImageDraw.Draw(picture)
    x = _Axis([each for line in chart.lines for each in line.x], chart.log_x)
    y = _Axis([each for line in chart.lines for each in line.y], chart.log_y)
    left, top, right, bottom = _MARGIN
    frame = (left, top, _SIZE[0] - right, _SIZE[1] - bottom)

    def place(point: tuple[float, float]) -> tuple[float, float]:
        across, up = x.share(point[0]), y.share(point[1])
        return frame[0] + across * (frame[2] - frame[0]), frame[3] - up * (frame[3] - frame[1])

    _draw_ticks(pen, frame, x, y)
    for value, label in chart.marks:
        column = place((value, y.low))[0]
        pen.line([(column, frame[1]), (column, frame[3])], fill=_INK)
        write(pen, (int(column) + 4, frame[1] + 2), label, _INK)
    for line in chart.lines:
        _draw_line(pen, line, place, x, y)
    write(pen, (left, 10), chart.title, _INK)
    write(pen, (frame[2] - text_width(chart.x_label), frame[3] + 18), chart.x_label, _INK)
    write(pen, (6, frame[1] - LINE_HEIGHT), chart.y_label, _INK)
    _draw_legend(pen, chart.lines, (left, _SIZE[1] - LINE_HEIGHT - 2))
    return np.asarray(picture)


class _Axis:
    """Where values lie between the lowest and the highest."""

    def __init__(self, values: Sequence[float], is_log: bool) -> None:
        self.is_log = is_log
        shown = [each for each in values if self.shows(each)]
        self.low, self.high = min(shown, default=1.0), max(shown, default=2.0)
        if self.low == self.high:
            self.high = self.low * 1.1 + (0.0 if self.low else 1.0)

    def shows(self, value: float) -> bool:
        return math.isfinite(value) and (value > 0 or not self.is_log)

    def share(self, value: float) -> float:
        low, high, at = (self._scaled(each) for each in (self.low, self.high, value))
        return (at - low) / (high - low)

    def ticks(self) -> list[float]:
        low, high = self._scaled(self.low), self._scaled(self.high)
        places = np.linspace(low, high, _TICKS)
        return [float(np.exp(each) if self.is_log else each) for each in places]

    def _scaled(self, value: float) -> float:
        return math.log(value) if self.is_log else value


def _draw_ticks(
    pen: ImageDraw.ImageDraw, frame: tuple[int, int, int, int], x: _Axis, y: _Axis
) -> None:
    left, top, right, bottom = frame
    for value in y.ticks():
        row = bottom - y.share(value) * (bottom - top)
        pen.line([(left, row), (right, row)], fill=_FAINT)
        write(pen, (6, int(row) - LINE_HEIGHT // 2), f"{value:.3g}", _INK)
    for value in x.ticks():
        column = left + x.share(value) * (right - left)
        text = f"{value:.2g}" if x.is_log else f"{value:.0f}"
        write(pen, (int(column) - text_width(text) // 2, bottom + 4), text, _INK)


def _draw_line(
    pen: ImageDraw.ImageDraw,
    line: ChartLine,
    place: Callable[[tuple[float, float]], tuple[float, float]],
    x: _Axis,
    y: _Axis,
) -> None:
    points = [
        place((across, up))
        for across, up in zip(line.x, line.y, strict=True)
        if x.shows(across) and y.shows(up)
    ]
    if line.is_faint:
        for column, row in points:
            pen.point([(column, row), (column + 1, row)], fill=line.color)
    elif len(points) > 1:
        pen.line(points, fill=line.color, width=2)


def _draw_legend(
    pen: ImageDraw.ImageDraw, lines: Sequence[ChartLine], start: tuple[int, int]
) -> None:
    left, top = start
    for line in lines:
        if not line.is_faint:
            pen.rectangle([left, top + 4, left + 12, top + 12], fill=line.color)
            write(pen, (left + 18, top), line.label, _INK)
            left += 18 + text_width(line.label) + 24
