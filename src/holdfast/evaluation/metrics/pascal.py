"""Pascal VOC's average precision, as the OD API computes it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from holdfast.evaluation.metrics.compared_objects import (
    ComparedObjects,
    FoundObjects,
    LabeledObjects,
    choose_objects,
)

# G labeled and N found objects, of one class in one image unless said otherwise

IOU_THRESHOLD = 0.5


VERDICT = np.dtype([("class_index", "i4"), ("score", "f4"), ("is_true", "?")])
Verdicts = NDArray[np.void]  # (N,) of VERDICT: true is the first that finds an object


class PascalEvaluator:
    """Judges found objects as they come, then computes the area under each class's curve.

    What is found at a difficult object, or inside of a group, counts neither way, where they are
    heeded; else both are objects like others. It keeps 9 bytes for each found object.
    """

    def __init__(
        self,
        classes: Mapping[int, str],
        *,
        prefix: str = "PascalBoxes",
        heeds_difficult: bool = True,
        heeds_groups: bool = False,
    ) -> None:
        """Evaluate these classes, label-map id -> name; objects of others are left out."""
        self._classes = dict(sorted(classes.items()))
        self._prefix = prefix
        self._heeds_difficult = heeds_difficult
        self._heeds_groups = heeds_groups
        self._objects: Counter[int] = Counter()  # by class index
        self._verdicts: list[Verdicts] = [np.zeros(0, VERDICT)]

    def add(self, labeled: LabeledObjects, found: FoundObjects) -> None:
        """Take the objects of some images; every image comes once."""
        labeled = labeled._replace(
            difficult=labeled.difficult & self._heeds_difficult,
            group_of=labeled.group_of & self._heeds_groups,
        )
        is_object = ~labeled.difficult & ~labeled.group_of
        self._objects.update(labeled.classes[is_object].tolist())
        places = sorted(set(zip(found.image.tolist(), found.classes.tolist(), strict=True)))
        judged = [
            judge_class(_of(labeled, *place), _of(found, *place))
            for place in places
            if place[1] + 1 in self._classes
        ]
        if judged:
            self._verdicts.append(np.concatenate(judged))

    def result(self) -> dict[str, float]:
        """Give the mean average precision and that of each class; NaN without any object."""
        verdicts = np.concatenate(self._verdicts)
        average = {
            name: average_precision(
                verdicts[verdicts["class_index"] == number - 1], self._objects[number - 1]
            )
            for number, name in self._classes.items()
        }
        known = [value for value in average.values() if not math.isnan(value)]
        mean = sum(known) / len(known) if known else math.nan
        at = f"@{IOU_THRESHOLD}IOU"
        return {f"{self._prefix}_Precision/mAP{at}": mean} | {
            # The OD API writes accents behind their letter here.
            f"{self._prefix}_PerformanceByCategory/AP{at}/{normalize('NFKD', name)}": value
            for name, value in average.items()
        }


def judge_class(labeled: LabeledObjects, found: FoundObjects) -> Verdicts:
    """Judge what was found of one class in one image; what counts neither way is left out."""
    has_area = (found.boxes[:, 2:] > found.boxes[:, :2]).all(axis=1)
    chosen = np.flatnonzero(has_area)[np.argsort(-found.scores[has_area], kind="stable")]
    boxes, is_group = found.boxes[chosen], labeled.group_of
    is_true, is_ignored = _match(boxes, labeled.boxes[~is_group], labeled.difficult[~is_group])
    covered = _intersections(boxes, labeled.boxes[is_group]) / _areas(boxes)[:, None]
    is_ignored |= ~is_true & (covered >= IOU_THRESHOLD).any(axis=1)
    verdicts = np.zeros(len(chosen), VERDICT)
    verdicts["class_index"], verdicts["score"] = found.classes[chosen], found.scores[chosen]
    verdicts["is_true"] = is_true
    return verdicts[~is_ignored]


def average_precision(verdicts: Verdicts, objects: int) -> float:
    """Give the area under the curve of precision over recall, made not to rise; NaN for 0 objects.

    >>> verdicts = np.array([(0, 0.9, True), (0, 0.8, False), (0, 0.7, True)], VERDICT)
    >>> round(average_precision(verdicts, objects=2), 4)
    0.8333
    """
    if not objects:
        return math.nan
    is_true = verdicts["is_true"][np.argsort(-verdicts["score"], kind="stable")]
    precision = np.cumsum(is_true) / np.arange(1, len(is_true) + 1)
    best_from_here = np.maximum.accumulate(precision[::-1])[::-1]
    return float(best_from_here[is_true].sum() / objects)


def _match(
    boxes: NDArray[np.float32], objects: NDArray[np.float32], difficult: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Say which found boxes are true, and which are ignored for a difficult object, each (N,).

    A box belongs to the object that it overlaps most, even if that was found before.
    """
    is_true, is_ignored = np.zeros(len(boxes), np.bool_), np.zeros(len(boxes), np.bool_)
    if not len(objects):
        return is_true, is_ignored
    intersections = _intersections(boxes, objects)  # (N, G)
    overlaps = intersections / (_areas(boxes)[:, None] + _areas(objects) - intersections)
    best = overlaps.argmax(axis=1)
    overlaps_enough = overlaps.max(axis=1) >= IOU_THRESHOLD
    is_ignored = overlaps_enough & difficult[best]
    candidates = np.flatnonzero(overlaps_enough & ~is_ignored)
    _, first = np.unique(best[candidates], return_index=True)
    is_true[candidates[first]] = True
    return is_true, is_ignored


def _intersections(boxes: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float64]:
    """Give the area that each two boxes share, (N, G)."""
    left, right = boxes.astype(np.float64)[:, None, :], others.astype(np.float64)[None, :, :]
    sides = np.minimum(left[..., 2:], right[..., 2:]) - np.maximum(left[..., :2], right[..., :2])
    areas: NDArray[np.float64] = np.maximum(sides, 0.0).prod(axis=-1)
    return areas


def _areas(boxes: NDArray[np.float32]) -> NDArray[np.float64]:
    sides = boxes[:, 2:].astype(np.float64) - boxes[:, :2]
    areas: NDArray[np.float64] = sides.prod(axis=1)
    return areas


def _of(objects: ComparedObjects, image: int, class_index: int) -> ComparedObjects:
    return choose_objects(objects, (objects.image == image) & (objects.classes == class_index))
