"""Which metrics can be chosen."""

from __future__ import annotations

import pytest

from holdfast.errors import HoldfastError
from holdfast.evaluation.metrics.metrics_set import Evaluators, MetricsSet, metrics_sets

from ..scenes import CLASSES, found, labeled


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("coco_detection_metrics", "DetectionBoxes"),
        ("pascal_voc_detection_metrics", "PascalBoxes"),
        ("oid_V2_detection_metrics", "OpenImagesV2"),
    ],
)
def test_each_set_has_its_prefix(name, prefix):
    metrics, _ = Evaluators(MetricsSet(classes=CLASSES, names=(name,))).result()
    assert {each.split("_")[0] for each in metrics} == {prefix}


def test_several_sets_are_computed_together():
    evaluators = Evaluators(MetricsSet(classes=CLASSES, names=metrics_sets()))
    evaluators.add(labeled([{}]), found([{}]))
    metrics, per_class = evaluators.result()
    assert metrics["DetectionBoxes_Precision/mAP"] == pytest.approx(1.0)
    assert metrics["PascalBoxes_Precision/mAP@0.5IOU"] == 1.0
    assert metrics["OpenImagesV2_Precision/mAP@0.5IOU"] == 1.0
    assert per_class["cat"].objects == 1


def test_groups_are_set_aside_by_the_metrics_of_open_images_only():
    evaluators = Evaluators(MetricsSet(classes=CLASSES, names=metrics_sets()))
    group = {"group_of": True, "box": (50, 50, 90, 90)}
    evaluators.add(labeled([{}, group]), found([{}]))
    metrics, _ = evaluators.result()
    assert metrics["PascalBoxes_Precision/mAP@0.5IOU"] == 0.5
    assert metrics["OpenImagesV2_Precision/mAP@0.5IOU"] == 1.0


@pytest.mark.parametrize(
    ("name", "similar"),
    [
        ("weighted_pascal_voc_detection_metrics", "pascal_voc_detection_metrics"),
        ("coco_mask_metrics", "coco_detection_metrics"),
        ("oid_challenge_detection_metrics", "oid_V2_detection_metrics"),
        ("something else", "coco_detection_metrics"),
    ],
)
def test_a_set_that_is_not_computed_is_an_error_that_names_the_nearest(name, similar):
    with pytest.raises(HoldfastError, match=f"does not compute {name}") as error:
        MetricsSet(classes=CLASSES, names=(name,))
    assert f'metrics_set: "{similar}"' in error.value.fix
