"""Trials as a picture: an upright axis for each thing searched over, a line for each trial."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from holdfast.lettering import LINE_HEIGHT, Color, text_width, write
from holdfast.pictures import Pixels
from holdfast.tuning.search_space import Dimension, Span, Value
from holdfast.tuning.search_study import TrialRecord

_HEIGHT, _AXIS_WIDTH = 480, 230
_MARGIN = (110, 50, 60, 60)  # left, top, bottom, right
_PAPER: Color = (24, 26, 30)
_INK: Color = (232, 234, 237)
_WORST: Color = (52, 60, 110)
_BETTER: Color = (66, 212, 244)
_BEST: Color = (255, 205, 70)
_TICKS = 5


@dataclass(frozen=True, kw_only=True)
class _Upright:
    """One axis: its name, its labels, and where each value lies, from 0 at the bottom to 1."""

    name: str
    ticks: tuple[tuple[float, str], ...]
    places: dict[int, float]  # by the trial's number


def draw_trials(
    space: Sequence[Dimension], trials: Sequence[TrialRecord], *, metric: str, is_minimized: bool
) -> Pixels:
    """Draw the trials that have a metric, the better the brighter; the best on top."""
    shown = [each for each in trials if each.metric is not None]
    axes = [*(_axis(each, shown) for each in space), _metric_axis(metric, shown)]
    left, _, _, right = _MARGIN
    picture = Image.new("RGB", (left + right + _AXIS_WIDTH * (len(axes) - 1), _HEIGHT), _PAPER)
    pen = ImageDraw.Draw(picture)
    for index, axis in enumerate(axes):
        _draw_axis(pen, left + index * _AXIS_WIDTH, axis)
    ranked = sorted(shown, key=lambda each: each.metric or 0.0, reverse=is_minimized)
    for rank, trial in enumerate(ranked):
        points = [
            (left + index * _AXIS_WIDTH, _row(axis.places[trial.number]))
            for index, axis in enumerate(axes)
            if trial.number in axis.places
        ]
        is_best = rank == len(ranked) - 1
        color = _BEST if is_best else _mixed(rank / max(len(ranked) - 1, 1))
        pen.line(points, fill=color, width=3 if is_best else 2)
    write(pen, (left, _HEIGHT - LINE_HEIGHT - 4), _legend(len(shown), len(trials)), _INK)
    return np.asarray(picture)


def _axis(dimension: Dimension, trials: Sequence[TrialRecord]) -> _Upright:
    given = {each.number: each.settings.get(dimension.name) for each in trials}
    known = {number: value for number, value in given.items() if value is not None}
    match dimension.values:
        case Span() as span:
            ticks = tuple((share, _number(span, share)) for share in _shares())
            places = {number: _share(span, value) for number, value in known.items()}
        case labels:
            last = max(len(labels) - 1, 1)
            ticks = tuple((index / last, label) for index, label in enumerate(labels))
            places = {
                number: labels.index(str(value)) / last
                for number, value in known.items()
                if value in labels
            }
    return _Upright(name=dimension.name, ticks=ticks, places=places)


def _metric_axis(metric: str, trials: Sequence[TrialRecord]) -> _Upright:
    values = {each.number: each.metric for each in trials if each.metric is not None}
    low, high = min(values.values(), default=0.0), max(values.values(), default=1.0)
    span = Span(low=low, high=high if high > low else low + 1.0, is_log=False, is_whole=False)
    return _Upright(
        name=metric.rpartition("/")[2],
        ticks=tuple((share, _number(span, share)) for share in _shares()),
        places={number: _share(span, value) for number, value in values.items()},
    )


def _draw_axis(pen: ImageDraw.ImageDraw, column: int, axis: _Upright) -> None:
    pen.line([(column, _row(0.0)), (column, _row(1.0))], fill=_INK)
    name = re.split(r"[./]", axis.name)[-1]  # of a path, its end
    write(pen, (column - text_width(name) // 2, 14), name, _INK)
    for share, label in axis.ticks:
        row = _row(share)
        pen.line([(column - 4, row), (column + 4, row)], fill=_INK)
        write(pen, (column - text_width(label) - 8, row - LINE_HEIGHT // 2), label, _INK)


def _row(share: float) -> float:
    _, top, bottom, _ = _MARGIN
    return _HEIGHT - bottom - share * (_HEIGHT - top - bottom)


def _shares() -> list[float]:
    return [index / (_TICKS - 1) for index in range(_TICKS)]


def _share(span: Span, value: Value) -> float:
    """Say where a value lies between the ends."""
    low, high, at = (_scaled(span, each) for each in (span.low, span.high, float(value)))
    return (at - low) / (high - low)


def _number(span: Span, share: float) -> str:
    low, high = _scaled(span, span.low), _scaled(span, span.high)
    at = low + share * (high - low)
    return f"{math.exp(at) if span.is_log else at:.3g}"


def _scaled(span: Span, value: float) -> float:
    return math.log(value) if span.is_log else value


def _mixed(share: float) -> Color:
    red, green, blue = (
        round(low + share * (high - low)) for low, high in zip(_WORST, _BETTER, strict=True)
    )
    return red, green, blue


def _legend(shown: int, trials: int) -> str:
    without = trials - shown
    rest = f"; {without} without a metric are not shown" if without else ""
    return f"{shown} trials, the better the brighter{rest}"
