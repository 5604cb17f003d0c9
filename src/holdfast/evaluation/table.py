"""The result of an evaluation on the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.evaluation.result import SHAPE_SCORES, ClassScore, EvaluationResult

_BAR = 24  # characters of a perfect score


def result_table(result: EvaluationResult) -> RenderableType:
    """Show the metrics, then the classes in the order of the label map."""
    tables = [_metrics_table(result.metrics)]
    if result.per_class:
        tables.append(_class_table(result.per_class))
    return Group(*tables)


def _metrics_table(metrics: Mapping[str, float]) -> Table:
    table = _table()
    table.add_column("metric", style="cyan", overflow="fold")
    table.add_column("value", justify="right", no_wrap=True)
    for name, value in metrics.items():
        is_known = math.isfinite(value) and value >= 0.0
        table.add_row(Text(name), _number(value if is_known else None))
    return table


def _class_table(per_class: Mapping[str, ClassScore]) -> Table:
    table = _table()
    table.add_column("class", style="cyan", overflow="fold")
    scores = [name for name in _HEADINGS if _is_known(name, per_class)]
    for heading in ("objects", *(_HEADINGS[name] for name in scores)):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, style="green")
    for name, score in per_class.items():
        bar = "█" * round((score.ap50 or 0.0) * _BAR)
        numbers = [_score(score, each) for each in scores]
        table.add_row(Text(name), str(score.objects), *numbers, Text(bar))
    return table


_HEADINGS = {
    "ap": "AP",
    "ap50": "AP50",
    "mask_ap": "mask AP",
    "mask_ap50": "mask AP50",
    "keypoint_ap": "keypoint AP",
    "keypoint_ap50": "keypoint AP50",
}


def _score(score: ClassScore, name: str) -> Text:
    """Write one score of a class; "-" where it has objects, and is not measured by them."""
    value = getattr(score, name)
    return Text("-", style="dim") if value is None and score.objects else _number(value)


def _is_known(name: str, per_class: Mapping[str, ClassScore]) -> bool:
    is_shape = name in SHAPE_SCORES
    return not is_shape or any(getattr(each, name) is not None for each in per_class.values())


def _table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")


def _number(value: float | None) -> Text:
    """Write a score; a class without objects has none."""
    return Text("no object", style="dim") if value is None else Text(f"{value:.4f}")
