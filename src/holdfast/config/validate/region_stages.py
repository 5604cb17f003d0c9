"""Settings of two-stage detectors that Holdfast obeys differently, or cannot obey."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from holdfast.config.schema.anchor_generator import AnchorGenerator
from holdfast.config.schema.box_predictor import BoxPredictor, MaskRCNNBoxPredictor
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.losses import HardExampleMiner
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.post_processing import BatchNonMaxSuppression, PostProcessing
from holdfast.errors import Problem

_ROOT = "model.faster_rcnn"


class _Finding(NamedTuple):
    is_found: bool
    path: str
    message: str
    fix: str = "remove it"
    severity: Literal["error", "warning"] = "warning"


def check_region_stages(config: TrainEvalPipelineConfig) -> Iterator[Problem]:
    """Yield what the stages cannot do, and what they do otherwise than the config seems to say."""
    if config.model is not None and config.model.faster_rcnn is not None:
        batch_size = config.train_config.batch_size if config.train_config else 1
        yield from stage_problems(config.model.faster_rcnn, batch_size)


def stage_problems(rcnn: FasterRcnn, batch_size: int = 1) -> Iterator[Problem]:
    """Yield problems of the stages; building refuses the first error."""
    for found in (
        *_of_crops(rcnn),
        *_of_suppression(rcnn),
        *_of_sampling(rcnn),
        *_of_mining(rcnn, batch_size),
        *_of_outputs(rcnn),
    ):
        if found.is_found:
            yield Problem(
                path=f"{_ROOT}.{found.path}",
                severity=found.severity,
                message=found.message,
                fix=found.fix,
            )


def _of_crops(rcnn: FasterRcnn) -> Iterator[_Finding]:
    predictor = rcnn.second_stage_box_predictor
    scores_maps = predictor is not None and predictor.rfcn_box_predictor is not None  # R-FCN
    cuts = rcnn.number_of_stages > 1 and not scores_maps
    pooled = rcnn.initial_crop_size - rcnn.maxpool_kernel_size
    yield _Finding(
        cuts and rcnn.initial_crop_size < 1,
        "initial_crop_size",
        f"regions of {rcnn.initial_crop_size} cells cannot be looked at",
        "write 14, or 17 for Inception-ResNet",
        "error",
    )
    yield _Finding(
        cuts and rcnn.initial_crop_size > 0 and pooled < 0,
        "maxpool_kernel_size",
        f"a window of {rcnn.maxpool_kernel_size} does not fit into regions of "
        f"{rcnn.initial_crop_size} cells",
        "write 2, and the same for maxpool_stride",
        "error",
    )
    generator = rcnn.first_stage_anchor_generator or AnchorGenerator()
    flexible = generator.flexible_grid_anchor_generator
    yield _Finding(
        flexible is not None and flexible.normalize_coordinates,
        "first_stage_anchor_generator.flexible_grid_anchor_generator.normalize_coordinates",
        "anchors of two stages are in pixels",
        "write normalize_coordinates: false",
        "error",
    )


def _of_suppression(rcnn: FasterRcnn) -> Iterator[_Finding]:
    threshold = rcnn.first_stage_nms_iou_threshold
    yield _Finding(
        not 0.0 <= threshold <= 1.0,
        "first_stage_nms_iou_threshold",
        f"{threshold:g} is no overlap",
        "write a number between 0 and 1",
        "error",
    )
    after = rcnn.second_stage_post_processing or PostProcessing()
    suppression = after.batch_non_max_suppression or BatchNonMaxSuppression()
    place = "second_stage_post_processing.batch_non_max_suppression"
    yield _Finding(
        not suppression.change_coordinate_frame,
        f"{place}.change_coordinate_frame",
        "detections of two stages are always normalized to the true image, in the OD API too",
    )
    yield _Finding(
        suppression.use_combined_nms,
        f"{place}.use_combined_nms",
        "it cannot change the coordinate frame, which two stages always do",
        severity="error",
    )
    calibrator = after.calibration_config and after.calibration_config.which("calibrator")
    yield _Finding(
        "sigmoid" in (calibrator or ""),
        f"second_stage_post_processing.calibration_config.{calibrator}",
        "Holdfast does not support it",
        "write it as function_approximation { x_y_pairs { } }",
        "error",
    )


def _of_sampling(rcnn: FasterRcnn) -> Iterator[_Finding]:
    yield _Finding(
        rcnn.use_static_balanced_label_sampler and not rcnn.use_static_shapes,
        "use_static_balanced_label_sampler",
        "it acts with use_static_shapes only, in the OD API too",
        "remove it, or set use_static_shapes: true",
    )
    predictor = rcnn.second_stage_box_predictor or BoxPredictor()
    has_masks = (predictor.mask_rcnn_box_predictor or MaskRCNNBoxPredictor()).predict_instance_masks
    yield _Finding(
        has_masks and rcnn.number_of_stages < 3,
        "second_stage_box_predictor.mask_rcnn_box_predictor.predict_instance_masks",
        f"with number_of_stages: {rcnn.number_of_stages} no mask is predicted",
        "remove it, or write number_of_stages: 3",
    )
    loss = rcnn.second_stage_classification_loss
    name = loss and loss.which("classification_loss")
    yield _Finding(
        name in ("penalty_reduced_logistic_focal_loss", "weighted_dice_classification_loss"),
        f"second_stage_classification_loss.{name}",
        "it is a loss of heatmaps and masks, not of regions",
        "write weighted_softmax { }",
        "error",
    )


def _of_mining(rcnn: FasterRcnn, batch_size: int) -> Iterator[_Finding]:
    mines = rcnn.hard_example_miner is not None
    miner = rcnn.hard_example_miner or HardExampleMiner()
    for name in ("max_negatives_per_positive", "min_negatives_per_image"):
        yield _Finding(
            mines and getattr(miner, name) != 0,
            f"hard_example_miner.{name}",
            "the second stage keeps no balance of positives and negatives, in the OD API neither",
        )
    for name in ("second_stage_batch_size", "second_stage_balance_fraction"):
        yield _Finding(
            mines and rcnn.has(name),
            name,
            "hard_example_miner chooses among all proposals: nothing is sampled",
        )
    yield _Finding(
        mines and batch_size > 1,
        "hard_example_miner",
        f"of a batch of {batch_size} the OD API trains the second stage on the first image alone; "
        "Holdfast trains it on all",
        "set batch_size: 1 for the OD API's numbers",
    )


def _of_outputs(rcnn: FasterRcnn) -> Iterator[_Finding]:
    for name in (
        "return_raw_detections_during_predict",
        "output_final_box_features",
        "output_final_box_rpn_features",
    ):
        yield _Finding(
            getattr(rcnn, name),
            name,
            "it adds outputs for other programs, which Holdfast does not give",
        )
