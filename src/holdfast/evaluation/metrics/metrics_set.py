"""Which metrics an evaluation computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from holdfast.errors import HoldfastError, nearest
from holdfast.evaluation.metrics.coco_boxes import CategoryMetrics, CocoEvaluator
from holdfast.evaluation.metrics.compared_objects import FoundObjects, LabeledObjects
from holdfast.evaluation.metrics.pascal import PascalEvaluator
from holdfast.evaluation.result import ClassScore
from holdfast.registry import NOT_FOUND_FIX, Registry

COCO = "coco_detection_metrics"
PASCAL = "pascal_voc_detection_metrics"
OPEN_IMAGES = "oid_V2_detection_metrics"


class Evaluator(Protocol):
    """A set of metrics at work on one evaluation."""

    def add(self, labeled: LabeledObjects, found: FoundObjects) -> None:
        """Take the objects of some images; every image comes once."""

    def result(self) -> dict[str, float]:
        """Give the metrics by name; NaN for what cannot be said."""


# name in eval_config.metrics_set -> what makes the evaluator of classes, label-map id -> name
METRICS: Registry[Callable[[Mapping[int, str]], Evaluator]] = Registry("metric")
METRICS.register(PASCAL)(PascalEvaluator)
METRICS.register(OPEN_IMAGES)(
    partial(PascalEvaluator, prefix="OpenImagesV2", heeds_difficult=False, heeds_groups=True)
)


def metric(
    name: str,
) -> Callable[[Callable[[Mapping[int, str]], Evaluator]], Callable[..., Evaluator]]:
    """Register the decorated class, or function that makes an Evaluator of the classes.

    `metrics_set: "NAME"` in eval_config chooses it.
    """
    return METRICS.register(name)


def metrics_sets() -> tuple[str, ...]:
    """List the names of all metrics that can be chosen."""
    return (COCO, *METRICS)


@dataclass(frozen=True, kw_only=True)
class MetricsSet:
    """The metrics to compute, by the names of eval_config.metrics_set."""

    classes: Mapping[int, str]  # label-map id -> name
    names: tuple[str, ...] = (COCO,)
    categories: CategoryMetrics | None = None

    def __post_init__(self) -> None:
        for name in self.names:
            if name != COCO and METRICS.find(name) is None:
                known = metrics_sets()
                similar = (*nearest(name, known), COCO)[0]
                raise HoldfastError(
                    f"Holdfast does not compute {name}.",
                    fix=f'Write metrics_set: "{similar}", or one of {", ".join(known)}. '
                    f"{NOT_FOUND_FIX}.",
                )


class Evaluators:
    """The evaluators of a metrics set at work."""

    def __init__(self, chosen: MetricsSet) -> None:
        self._chosen = chosen
        # The scores of the classes are always COCO's, whatever else is computed.
        self._coco = CocoEvaluator(chosen.classes, chosen.categories)
        self._others = [METRICS[name](chosen.classes) for name in chosen.names if name != COCO]

    def add(self, labeled: LabeledObjects, found: FoundObjects) -> None:
        """Take the objects of some images; every image comes once."""
        self._coco.add(labeled, found)
        for evaluator in self._others:
            evaluator.add(labeled, found)

    def result(self) -> tuple[dict[str, float], dict[str, ClassScore]]:
        """Give the metrics that were chosen, and how well each class is found."""
        coco = self._coco.result()
        metrics = coco.metrics if COCO in self._chosen.names else {}
        for evaluator in self._others:
            metrics = metrics | evaluator.result()
        return metrics, coco.per_class
