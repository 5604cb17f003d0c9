"""Settings of the stages that are refused, and those that act otherwise than they seem to."""

from __future__ import annotations

import pytest

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.validate.region_stages import check_region_stages
from holdfast.errors import HoldfastError, Problem
from holdfast.models.detectors.build_detector import build_detector

from ..texts import config
from .test_region_networks import PREDICTOR, TEXT

CLASSES = "num_classes: 3"
AFTER = f"{CLASSES} second_stage_post_processing {{ %s }}"
MINER = f"{CLASSES} hard_example_miner {{ %s }}"
_ANCHORS = "grid_anchor_generator { scales: 1.0 aspect_ratios: 1.0 }"
_GRID = "anchor_grid { base_sizes: 32 aspect_ratios: 1.0 height_stride: 16 width_stride: 16 }"
# What is changed in the usual text, the field that is named, below model.faster_rcnn.
REFUSED = [
    ("initial_crop_size: 14", "", "initial_crop_size"),
    ("maxpool_kernel_size: 2", "maxpool_kernel_size: 15", "maxpool_kernel_size"),
    (CLASSES, f"{CLASSES} first_stage_nms_iou_threshold: 1.5", "first_stage_nms_iou_threshold"),
    (
        _ANCHORS,
        f"flexible_grid_anchor_generator {{ {_GRID} }}",
        "first_stage_anchor_generator.flexible_grid_anchor_generator.normalize_coordinates",
    ),
    (
        CLASSES,
        AFTER % "batch_non_max_suppression { use_combined_nms: true }",
        "second_stage_post_processing.batch_non_max_suppression.use_combined_nms",
    ),
    (
        CLASSES,
        AFTER % "calibration_config { sigmoid_calibration { } }",
        "second_stage_post_processing.calibration_config.sigmoid_calibration",
    ),
    (
        CLASSES,
        f"{CLASSES} second_stage_classification_loss {{ weighted_dice_classification_loss {{ }} }}",
        "second_stage_classification_loss.weighted_dice_classification_loss",
    ),
]
SAID = [
    (
        CLASSES,
        AFTER % "batch_non_max_suppression { change_coordinate_frame: false }",
        "second_stage_post_processing.batch_non_max_suppression.change_coordinate_frame",
    ),
    (
        CLASSES,
        f"{CLASSES} use_static_balanced_label_sampler: true",
        "use_static_balanced_label_sampler",
    ),
    (
        PREDICTOR,
        "mask_rcnn_box_predictor { predict_instance_masks: true }",
        "second_stage_box_predictor.mask_rcnn_box_predictor.predict_instance_masks",
    ),
    (
        CLASSES,
        MINER % "max_negatives_per_positive: 3",
        "hard_example_miner.max_negatives_per_positive",
    ),
    (CLASSES, f"{MINER % ''} second_stage_batch_size: 32", "second_stage_batch_size"),
    (
        CLASSES,
        f"{CLASSES} return_raw_detections_during_predict: true",
        "return_raw_detections_during_predict",
    ),
    (CLASSES, f"{CLASSES} output_final_box_features: true", "output_final_box_features"),
]


def judged(*change: str, after: str = "") -> list[Problem]:
    text = (TEXT.replace(*change) if change else TEXT) + after
    assert not change or text != TEXT + after
    return list(check_region_stages(config(text=text)))


def test_usual_stages_give_nothing_to_say():
    assert judged() == []
    assert judged(CLASSES, MINER % "") == []
    assert list(check_region_stages(TrainEvalPipelineConfig())) == []


@pytest.mark.parametrize(("old", "new", "path"), REFUSED, ids=[path for *_, path in REFUSED])
def test_what_the_stages_cannot_do_is_refused_by_check_and_by_the_builder(old, new, path):
    (problem,) = judged(old, new)
    assert (problem.severity, problem.path) == ("error", f"model.faster_rcnn.{path}")
    assert problem.fix
    with pytest.raises(HoldfastError):
        build_detector(config(text=TEXT.replace(old, new)))


@pytest.mark.parametrize(("old", "new", "path"), SAID, ids=[path for *_, path in SAID])
def test_what_acts_otherwise_than_it_seems_is_said(old, new, path):
    (problem,) = judged(old, new)
    assert (problem.severity, problem.path) == ("warning", f"model.faster_rcnn.{path}")


def test_mining_in_larger_batches_differs_from_the_od_api_and_that_is_said():
    (problem,) = judged(CLASSES, MINER % "", after="train_config { batch_size: 2 }")
    assert problem.path == "model.faster_rcnn.hard_example_miner"
