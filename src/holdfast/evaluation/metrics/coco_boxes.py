"""COCO's metrics of boxes and of masks, by the OD API's names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import HoldfastError
from holdfast.evaluation.metrics.coco_class import (
    BOXES,
    FOUND,
    LABELED,
    MEASURES,
    NO_OBJECTS,
    Comparison,
    Rows,
    class_measures,
    found_rows,
    labeled_rows,
)
from holdfast.evaluation.metrics.compared_objects import (
    ComparedObjects,
    FoundObjects,
    LabeledObjects,
)
from holdfast.evaluation.result import ClassScore

# K classes, M measures


@dataclass(frozen=True, kw_only=True)
class CocoResult:
    """COCO's metrics over all classes, and how well each class is found."""

    metrics: dict[str, float]  # -1 where there is no object
    per_class: dict[str, ClassScore]  # by name, in the order of the ids


@dataclass(frozen=True, kw_only=True)
class CategoryMetrics:
    """Which metrics of single classes are listed beside those over all classes."""

    included: bool = False  # the mAP of each class
    all_measures: bool = False  # and all other measures
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)  # super category -> classes


class CocoEvaluator:
    """Collects labeled and found objects, then measures.

    It keeps about 30 bytes for each object, and the run lengths of its mask if these are compared.
    `result` takes one class after the other, and while it does, about 1.6 KB for each object found
    of that class.
    """

    def __init__(
        self,
        classes: Mapping[int, str],
        categories: CategoryMetrics | None = None,
        comparison: Comparison = BOXES,
    ) -> None:
        """Evaluate these classes, label-map id -> name; objects of others are left out."""
        self._comparison = comparison
        self._classes = dict(sorted(classes.items()))
        self._categories = categories or CategoryMetrics()
        self._labeled: list[Rows] = []
        self._found: list[Rows] = []

    def add(self, labeled: LabeledObjects, found: FoundObjects) -> None:
        """Take the objects of some images; every image comes once."""
        indices = np.array(list(self._classes)) - 1
        for kept, rows in (
            (self._labeled, labeled_rows(self._compared(labeled))),
            (self._found, found_rows(self._compared(found))),
        ):
            kept.append(rows[np.isin(rows["class_index"], indices)])

    def _compared(self, objects: ComparedObjects) -> ComparedObjects:
        """Leave what is not compared."""
        if self._comparison.kind != "segm":
            return objects._replace(masks=None, keypoints=None)
        if objects.masks is None:
            whose = "data" if isinstance(objects, LabeledObjects) else "detector"
            raise HoldfastError(
                f"Masks are to be evaluated, and the {whose} gives none.",
                fix="Remove coco_mask_metrics from eval_config.metrics_set, or set "
                "eval_input_reader.load_instance_masks: true and take a detector of masks.",
            )
        return objects._replace(keypoints=None)

    def result(self) -> CocoResult:
        """Measure what was added so far."""
        labeled = _by_class(self._labeled, LABELED)
        found = _by_class(self._found, FOUND)
        measures = np.full((len(self._classes), len(MEASURES)), NO_OBJECTS)  # (K, M)
        objects = np.zeros(len(self._classes), np.int64)  # (K,)
        for row, number in enumerate(self._classes):
            of_class = _of(labeled, number - 1)
            objects[row] = np.count_nonzero(~of_class["is_crowd"])
            if objects[row]:
                measures[row] = class_measures(of_class, _of(found, number - 1), self._comparison)
        names = list(self._classes.values())
        values = dict(_overall(measures)) | dict(_of_classes(self._categories, names, measures))
        return CocoResult(
            metrics={self._comparison.prefix + name: value for name, value in values.items()},
            per_class=_class_scores(names, measures, objects),
        )


def _by_class(parts: list[Rows], dtype: np.dtype[np.void]) -> Rows:
    """Join what was added, sorted by class; within a class in the order of the images."""
    rows = np.concatenate(parts) if parts else np.zeros(0, dtype)
    return rows[np.argsort(rows["class_index"], kind="stable")]


def _of(rows: Rows, class_index: int) -> Rows:
    first, last = np.searchsorted(rows["class_index"], [class_index, class_index + 1])
    return rows[first:last]


def _overall(measures: NDArray[np.float64]) -> Iterator[tuple[str, float]]:
    """Average each measure over the classes that have objects for it."""
    for measure, column in zip(MEASURES, measures.T, strict=True):
        counted = column[column > NO_OBJECTS]
        yield measure.name, float(counted.mean()) if len(counted) else NO_OBJECTS


def _of_classes(
    categories: CategoryMetrics, names: Sequence[str], measures: NDArray[np.float64]
) -> Iterator[tuple[str, float]]:
    if not categories.included:
        return
    for name, row in zip(names, measures.tolist(), strict=True):
        yield f"PerformanceByCategory/mAP/{name}", row[0]
        if categories.all_measures:
            for measure, value in zip(MEASURES, row, strict=True):
                yield f"{measure.name} ByCategory/{name}", value
    for group, members in categories.groups.items():
        means = dict(_overall(measures[np.isin(names, list(members))]))
        yield f"PerformanceBySuperCategory/{group}", means[MEASURES[0].name]
        if categories.all_measures:
            for measure_name, value in means.items():
                yield f"{measure_name} BySuperCategory/{group}", value


def _class_scores(
    names: Sequence[str], measures: NDArray[np.float64], objects: NDArray[np.int64]
) -> dict[str, ClassScore]:
    rows = zip(names, measures.tolist(), objects.tolist(), strict=True)
    return {
        name: ClassScore(
            ap=row[0] if count else None, ap50=row[1] if count else None, objects=count
        )
        for name, row, count in rows
    }
