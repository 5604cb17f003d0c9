"""Which metrics can be chosen."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.errors import HoldfastError
from holdfast.evaluation.metrics.coco_keypoints import KeypointMetrics
from holdfast.evaluation.metrics.metrics_set import Evaluators, MetricsSet, metrics_sets
from holdfast.evaluation.pasted_masks import PastedPart, encode_part

from ..scenes import CLASSES, found, labeled

OF_BOXES = tuple(
    name for name in metrics_sets() if name not in ("coco_mask_metrics", "coco_keypoint_metrics")
)


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("coco_detection_metrics", "DetectionBoxes"),
        ("coco_mask_metrics", "DetectionMasks"),
        ("pascal_voc_detection_metrics", "PascalBoxes"),
        ("oid_V2_detection_metrics", "OpenImagesV2"),
    ],
)
def test_each_set_has_its_prefix(name, prefix):
    metrics, _ = Evaluators(MetricsSet(classes=CLASSES, names=(name,))).result()
    assert {each.split("_")[0] for each in metrics} == {prefix}


def test_several_sets_are_computed_together():
    evaluators = Evaluators(MetricsSet(classes=CLASSES, names=OF_BOXES))
    evaluators.add(labeled([{}]), found([{}]))
    metrics, per_class = evaluators.result()
    assert metrics["DetectionBoxes_Precision/mAP"] == pytest.approx(1.0)
    assert metrics["PascalBoxes_Precision/mAP@0.5IOU"] == 1.0
    assert metrics["OpenImagesV2_Precision/mAP@0.5IOU"] == 1.0
    assert per_class["cat"].objects == 1


def test_groups_are_set_aside_by_the_metrics_of_open_images_only():
    evaluators = Evaluators(MetricsSet(classes=CLASSES, names=OF_BOXES))
    group = {"group_of": True, "box": (50, 50, 90, 90)}
    evaluators.add(labeled([{}, group]), found([{}]))
    metrics, _ = evaluators.result()
    assert metrics["PascalBoxes_Precision/mAP@0.5IOU"] == 0.5
    assert metrics["OpenImagesV2_Precision/mAP@0.5IOU"] == 1.0


@pytest.mark.parametrize(
    ("name", "similar"),
    [
        ("weighted_pascal_voc_detection_metrics", "pascal_voc_detection_metrics"),
        ("lvis_mask_metrics", "coco_mask_metrics"),
        ("oid_challenge_detection_metrics", "oid_V2_detection_metrics"),
        ("something else", "coco_detection_metrics"),
    ],
)
def test_a_set_that_is_not_computed_is_an_error_that_names_the_nearest(name, similar):
    with pytest.raises(HoldfastError, match=f"does not compute {name}") as error:
        MetricsSet(classes=CLASSES, names=(name,))
    assert f'metrics_set: "{similar}"' in error.value.fix


def test_shapes_are_compared_only_where_their_metrics_are_chosen():
    assert MetricsSet(classes=CLASSES).shapes == frozenset()
    both = MetricsSet(classes=CLASSES, names=("coco_mask_metrics", "coco_keypoint_metrics"))
    assert both.shapes == {"masks", "keypoints"}


def test_masks_and_keypoints_are_scored_per_class_beside_boxes():
    mask = encode_part(PastedPart(np.ones((9, 9), np.uint8), 0, 0), 20, 20)
    shapes = {"masks": np.array([None]), "keypoints": np.ones((1, 2, 2), np.float32)}
    shapes["masks"][0] = mask
    measured = KeypointMetrics(class_id=1, class_name="cat")
    names = ("coco_detection_metrics", "coco_mask_metrics", "coco_keypoint_metrics")
    evaluators = Evaluators(MetricsSet(classes=CLASSES, names=names, keypoints=(measured,)))
    evaluators.add(labeled([{}])._replace(**shapes), found([{}])._replace(**shapes))
    metrics, per_class = evaluators.result()
    assert metrics["DetectionBoxes_Precision/mAP"] == pytest.approx(1.0)
    assert metrics["DetectionMasks_Precision/mAP"] == pytest.approx(1.0)
    assert metrics["Keypoints_Precision/mAP ByCategory/cat"] == pytest.approx(1.0)
    assert per_class["cat"].mask_ap == per_class["cat"].keypoint_ap50 == pytest.approx(1.0)
    assert per_class["dog"].mask_ap is None


@pytest.mark.parametrize(
    ("name", "shape"), [("coco_mask_metrics", "Masks"), ("coco_keypoint_metrics", "Keypoints")]
)
def test_shapes_that_a_detector_does_not_give_are_an_error(name, shape):
    measured = (KeypointMetrics(class_id=1, class_name="cat"),)
    evaluators = Evaluators(MetricsSet(classes=CLASSES, names=(name,), keypoints=measured))
    with pytest.raises(HoldfastError, match=f"{shape} are to be evaluated"):
        evaluators.add(labeled([{}]), found([{}]))
