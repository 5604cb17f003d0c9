"""Which metrics an evaluation computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.errors import HoldfastError, nearest
from holdfast.evaluation.coco import CategoryMetrics, CocoEvaluator
from holdfast.evaluation.objects import FoundObjects, LabelledObjects
from holdfast.evaluation.pascal import PascalEvaluator
from holdfast.evaluation.result import ClassScore

COCO = "coco_detection_metrics"
PASCAL = "pascal_voc_detection_metrics"
OPEN_IMAGES = "oid_V2_detection_metrics"
METRICS_SETS = (COCO, PASCAL, OPEN_IMAGES)


@dataclass(frozen=True, kw_only=True)
class MetricsSet:
    """The metrics to compute, by the names of eval_config.metrics_set."""

    classes: Mapping[int, str]  # label-map id -> name
    names: tuple[str, ...] = (COCO,)
    categories: CategoryMetrics | None = None

    def __post_init__(self) -> None:
        for name in self.names:
            if name not in METRICS_SETS:
                similar = (*nearest(name, METRICS_SETS), COCO)[0]
                raise HoldfastError(
                    f"Holdfast does not compute {name}.",
                    fix=f'Write metrics_set: "{similar}", or one of {", ".join(METRICS_SETS)}.',
                )


class Evaluators:
    """The evaluators of a metrics set at work."""

    def __init__(self, chosen: MetricsSet) -> None:
        self._chosen = chosen
        # The scores of the classes are always COCO's, whatever else is computed.
        self._coco = CocoEvaluator(chosen.classes, chosen.categories)
        self._others = [_pascal(name, chosen.classes) for name in chosen.names if name != COCO]

    def add(self, labelled: LabelledObjects, found: FoundObjects) -> None:
        """Take the objects of some images; every image comes once."""
        self._coco.add(labelled, found)
        for evaluator in self._others:
            evaluator.add(labelled, found)

    def result(self) -> tuple[dict[str, float], dict[str, ClassScore]]:
        """Give the metrics that were chosen, and how well each class is found."""
        coco = self._coco.result()
        metrics = coco.metrics if COCO in self._chosen.names else {}
        for evaluator in self._others:
            metrics = metrics | evaluator.result()
        return metrics, coco.per_class


def _pascal(name: str, classes: Mapping[int, str]) -> PascalEvaluator:
    if name == PASCAL:
        return PascalEvaluator(classes)
    return PascalEvaluator(classes, prefix="OpenImagesV2", heeds_difficult=False, heeds_groups=True)
