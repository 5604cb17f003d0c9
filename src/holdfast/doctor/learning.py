"""What a run shows of how well it detects, beside its losses; less is known of older runs."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from holdfast.doctor.case import Case
from holdfast.doctor.history import best_precision
from holdfast.doctor.lazy_part import MissingError
from holdfast.doctor.network_facts import trains_batch_norm
from holdfast.runs.events import Event

_DETECTS = 0.2  # mAP at IoU 0.5: far above chance, whatever the data
_SCORES = 0.35  # of the right class, where an object is: it knows what it sees
_HIGH = 0.5  # a score that says: an object
_MOST_HIGH = 0.6  # of the places; of a second stage's regions, half may show objects
_LATEST = 3  # looks that say how it is now


def detects(case: Case) -> bool:
    """Tell whether an evaluation or the scores show that the detector works.

    A fine-tuning that starts good has a loss that hardly falls, and nothing is wrong with it.
    """
    precision, score = best_precision(evaluations_of(case)), positive_score(case)
    knows = (score or 0.0) >= _SCORES and _tells_apart(case)
    return (precision or 0.0) >= _DETECTS or knows


def _tells_apart(case: Case) -> bool:
    """Tell whether most places score low: one that calls everything an object knows nothing."""
    scores = vitals_of(case)[-1].values.get("scores") or {}
    edges, places = scores.get("edges") or (), scores.get("places") or ()
    high = sum(count for edge, count in zip(edges, places[1:], strict=False) if edge >= _HIGH)
    return bool(high <= _MOST_HIGH * sum(places))


def evaluations_of(case: Case) -> tuple[Event, ...]:
    """Give the evaluations so far; none is no reason not to look."""
    try:
        return case.evaluations
    except MissingError:
        return ()


def vitals_of(case: Case) -> tuple[Event, ...]:
    """Give the looks at the network so far; none is no reason not to look."""
    try:
        return case.vitals
    except MissingError:
        return ()


def positive_score(case: Case) -> float | None:
    """Give the mean score of the right class where an object is, lately; None: not recorded."""
    return lately(vitals_of(case), "scores", "positive_mean")


def lately(looks: Sequence[Event], *path: str) -> float | None:
    """Give the median of a number in the last looks; None where it was not recorded."""
    found = [number_at(event.values, *path) for event in looks[-_LATEST:]]
    numbers = [each for each in found if each is not None]
    return median(numbers) if numbers else None


def number_at(values: Any, *path: str) -> float | None:
    """Follow keys to a number; None if one of them is not there."""
    for key in path:
        values = values.get(key) if isinstance(values, dict) else None
    is_number = isinstance(values, int | float) and not isinstance(values, bool)
    return float(values) if is_number else None


def by_group(looks: Sequence[Event], kind: str, name: str) -> dict[str, float]:
    """Give a number of each layer group, the median of the last looks.

    kind: `layers`, `activations` or `batch_norm`.
    """
    latest = looks[-_LATEST:]
    groups = dict.fromkeys(group for event in latest for group in event.values.get(kind) or ())
    found = {group: lately(latest, kind, group, name) for group in groups}
    return {group: value for group, value in found.items() if value is not None}


def class_counts(case: Case, name: str) -> dict[str, int]:
    """Add up boxes by class over all looks; classes without any are not in.

    name: `boxes` (all that were learned from), `looked_at`, or `matched`, those of them that a
    place learns.
    """
    counts: dict[str, int] = {}
    for look in vitals_of(case):
        for each, count in ((look.values.get("classes") or {}).get(name) or {}).items():
            counts[each] = counts.get(each, 0) + int(count)
    return {each: count for each, count in counts.items() if count}


def batch_norm_drifts(case: Case, looks: Sequence[Event]) -> dict[str, float]:
    """Give the distance of the variances by group; none where batch norm is frozen.

    Frozen, it normalizes by the moving statistics in training, too: they may be far from the
    batches' and nothing differs in an evaluation.
    """
    try:
        if not trains_batch_norm(case.detector):
            return {}
    except MissingError:
        pass  # the config is lost: it may train them
    return by_group(looks, "batch_norm", "log_variance")


def terms_like(names: Sequence[str], *words: str) -> list[str]:
    """Choose the loss terms about boxes, or those about classes."""
    return [name for name in names if any(word in name.lower() for word in words)]


# Not the offset of CenterNet: below a cell, it hardly falls in a training that is all right.
BOX_TERMS = ("localization", "scale")
CLASS_TERMS = ("classification", "objectness", "object_center")
