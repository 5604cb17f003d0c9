"""Turn the config's tasks into what a CenterNet learns, and the heads that predict it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from holdfast.config.facts.keypoint_tasks import TaskKeypoints, task_keypoints
from holdfast.config.schema import center_net as schema
from holdfast.config.schema.losses import ClassificationLoss, LocalizationLoss, Loss
from holdfast.geometry.keypoint_matching import KeypointMatcher
from holdfast.losses.build_losses import build_heatmap_loss, build_localization_loss
from holdfast.models.detectors.center_net.tasks import (
    BOX_OFFSET,
    BOX_SCALE,
    CENTER,
    SEGMENTATION,
    BoxTask,
    CenterTask,
    KeypointTask,
    KeypointWeights,
    MaskTask,
    Tasks,
)
from holdfast.models.heads.heatmap_head import PredictionSpec


def build_tasks(config: schema.CenterNet, folder: Path) -> Tasks:
    """Make the tasks; folder: of the config, from which the label map is looked up as well."""
    box = config.object_detection_task
    known = task_keypoints(config, folder)
    return Tasks(
        num_classes=config.num_classes,
        center=_center(config.object_center_params or schema.ObjectCenterParams()),
        box=None if box is None else _box(box),
        keypoints=tuple(
            _keypoints(task, known[task.task_name]) for task in config.keypoint_estimation_task
        ),
        mask=None if config.mask_estimation_task is None else _mask(config.mask_estimation_task),
    )


def build_prediction_specs(config: schema.CenterNet, tasks: Tasks) -> tuple[PredictionSpec, ...]:
    """List what the heads predict, in the OD API's order."""
    center = config.object_center_params or schema.ObjectCenterParams()
    specs = [
        _spec(CENTER, config.num_classes, center.center_head_params, bias=center.heatmap_bias_init)
    ]
    if (box := config.object_detection_task) is not None:
        specs.append(_spec(BOX_SCALE, 2, box.scale_head_params))
        specs.append(_spec(BOX_OFFSET, 2, box.offset_head_params))
    for task, own in zip(config.keypoint_estimation_task, tasks.keypoints, strict=True):
        specs.extend(_keypoint_specs(task, own))
    if (mask := config.mask_estimation_task) is not None:
        specs.append(
            _spec(
                SEGMENTATION,
                config.num_classes,
                mask.mask_head_params,
                bias=mask.heatmap_bias_init,
            )
        )
    return tuple(specs)


def _keypoint_specs(task: schema.KeypointEstimation, own: KeypointTask) -> Iterator[PredictionSpec]:
    count = len(own.chosen)
    yield _spec(own.heatmap, count, task.heatmap_head_params, bias=task.heatmap_bias_init)
    yield _spec(own.regression, 2 * count, task.regress_head_params)
    num_offsets = 2 * count if task.per_keypoint_offset else 2
    yield _spec(own.offset, num_offsets, task.offset_head_params)


def _spec(
    name: str, channels: int, layers: schema.PredictionHeadParams | None, bias: float = 0.0
) -> PredictionSpec:
    if layers is None:
        return PredictionSpec(name=name, channels=channels, bias=bias)
    return PredictionSpec(
        name=name,
        channels=channels,
        bias=bias,
        num_filters=layers.num_filters,
        kernel_sizes=layers.kernel_sizes,
    )


def _center(config: schema.ObjectCenterParams) -> CenterTask:
    return CenterTask(
        loss=build_heatmap_loss(config.classification_loss or ClassificationLoss()),
        weight=config.object_center_loss_weight,
        min_overlap=config.min_box_overlap_iou,
        max_detections=config.max_box_predictions,
        peak_kernel=config.peak_max_pool_kernel_size,
        keypoint_weights=config.keypoint_weights_for_center,
    )


def _box(config: schema.ObjectDetection) -> BoxTask:
    return BoxTask(
        loss=build_localization_loss(config.localization_loss or LocalizationLoss()),
        scale_weight=config.task_loss_weight * config.scale_loss_weight,
        offset_weight=config.task_loss_weight * config.offset_loss_weight,
    )


def _keypoints(config: schema.KeypointEstimation, known: TaskKeypoints) -> KeypointTask:
    loss, weight = config.loss or Loss(), config.task_loss_weight
    return KeypointTask(
        name=config.task_name,
        class_index=known.class_index,
        chosen=known.indices,
        deviations=known.deviations,
        heatmap_loss=build_heatmap_loss(loss.classification_loss or ClassificationLoss()),
        point_loss=build_localization_loss(loss.localization_loss or LocalizationLoss()),
        weights=KeypointWeights(
            heatmap=weight * config.keypoint_heatmap_loss_weight,
            offset=weight * config.keypoint_offset_loss_weight,
            regression=weight * config.keypoint_regression_loss_weight,
        ),
        matcher=_matcher(config, known),
        num_candidates=config.num_candidates_per_keypoint,
        peak_kernel=config.peak_max_pool_kernel_size,
        offset_radius=config.offset_peak_radius,
        is_offset_per_keypoint=config.per_keypoint_offset,
        clips=config.clip_out_of_frame_keypoints,
        rescores=config.rescore_instances,
        rescoring_threshold=config.rescoring_threshold,
        takes_highest=config.argmax_postprocessing,
        nearness=config.gaussian_denom_ratio,
    )


def _matcher(config: schema.KeypointEstimation, known: TaskKeypoints) -> KeypointMatcher:
    if config.argmax_postprocessing:  # which looks for no candidates
        return KeypointMatcher()
    return KeypointMatcher(
        ranking=config.candidate_ranking_mode,  # type: ignore[arg-type]  # it checks
        candidate_threshold=config.keypoint_candidate_score_threshold,
        unmatched_score=config.unmatched_keypoint_score,
        box_scale=config.box_scale,
        search_scale=config.candidate_search_scale,
        distance_offset=config.score_distance_offset,
        distance_multiplier=config.score_distance_multiplier,
        deviations=tuple(each * config.std_dev_multiplier for each in known.deviations),
    )


def _mask(config: schema.MaskEstimation) -> MaskTask:
    return MaskTask(
        loss=build_heatmap_loss(config.classification_loss or ClassificationLoss()),
        weight=config.task_loss_weight,
        height=config.mask_height,
        width=config.mask_width,
        threshold=config.score_threshold,
    )
