"""Which metrics an evaluation computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from holdfast.errors import HoldfastError, nearest
from holdfast.evaluation.metrics.coco_boxes import CategoryMetrics, CocoEvaluator
from holdfast.evaluation.metrics.coco_class import MASKS
from holdfast.evaluation.metrics.coco_keypoints import KeypointEvaluator, KeypointMetrics
from holdfast.evaluation.metrics.compared_objects import FoundObjects, LabeledObjects
from holdfast.evaluation.metrics.pascal import PascalEvaluator
from holdfast.evaluation.result import ClassScore
from holdfast.registry import NOT_FOUND_FIX, Registry

COCO = "coco_detection_metrics"
COCO_MASKS = "coco_mask_metrics"
COCO_KEYPOINTS = "coco_keypoint_metrics"
_BUILT_IN = (COCO, COCO_MASKS, COCO_KEYPOINTS)
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
    return (*_BUILT_IN, *METRICS)


@dataclass(frozen=True, kw_only=True)
class MetricsSet:
    """The metrics to compute, by the names of eval_config.metrics_set."""

    classes: Mapping[int, str]  # label-map id -> name
    names: tuple[str, ...] = (COCO,)
    categories: CategoryMetrics | None = None
    keypoints: tuple[KeypointMetrics, ...] = ()  # of which classes, for COCO_KEYPOINTS

    @property
    def shapes(self) -> frozenset[str]:
        """What is compared beside boxes: masks, keypoints."""
        named = {"masks": COCO_MASKS in self.names, "keypoints": COCO_KEYPOINTS in self.names}
        return frozenset(name for name, is_compared in named.items() if is_compared)

    def __post_init__(self) -> None:
        for name in self.names:
            if name not in _BUILT_IN and METRICS.find(name) is None:
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
        self._masks = (
            CocoEvaluator(chosen.classes, chosen.categories, MASKS)
            if COCO_MASKS in chosen.names
            else None
        )
        measured = chosen.keypoints if COCO_KEYPOINTS in chosen.names else ()
        self._keypoints = {each.class_name: KeypointEvaluator(each) for each in measured}
        named = (name for name in chosen.names if name not in _BUILT_IN)
        self._others = [METRICS[name](chosen.classes) for name in named]

    def add(self, labeled: LabeledObjects, found: FoundObjects) -> None:
        """Take the objects of some images; every image comes once."""
        self._coco.add(labeled, found)
        if self._masks is not None:
            self._masks.add(labeled, found)
        others: list[Evaluator] = [*self._keypoints.values(), *self._others]
        for evaluator in others:
            evaluator.add(labeled, found)

    def result(self) -> tuple[dict[str, float], dict[str, ClassScore]]:
        """Give the metrics that were chosen, and how well each class is found."""
        coco = self._coco.result()
        metrics = coco.metrics if COCO in self._chosen.names else {}
        scores = coco.per_class
        if self._masks is not None:
            masks = self._masks.result()
            metrics = metrics | masks.metrics
            scores = {
                name: replace(
                    score, mask_ap=masks.per_class[name].ap, mask_ap50=masks.per_class[name].ap50
                )
                for name, score in scores.items()
            }
        for name, keypoints in self._keypoints.items():
            values = keypoints.result()
            metrics = metrics | values
            ap, ap50 = (value if value >= 0.0 else None for value in list(values.values())[:2])
            scores[name] = replace(scores[name], keypoint_ap=ap, keypoint_ap50=ap50)
        for evaluator in self._others:
            metrics = metrics | evaluator.result()
        return metrics, scores
