"""Settings of CenterNet that can be read, and that Holdfast does not build, or obeys otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from holdfast.config.facts.extractors import extractor
from holdfast.config.facts.keypoint_tasks import task_keypoints
from holdfast.config.paths import find_files
from holdfast.config.schema.center_net import (
    CenterNet,
    CenterNetFeatureExtractor,
    KeypointEstimation,
    ObjectCenterParams,
    PredictionHeadParams,
)
from holdfast.config.schema.losses import ClassificationLoss, LocalizationLoss
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.post_processing import ScoreConverter
from holdfast.errors import HoldfastError, Problem, nearest

RANKING_MODES = (
    "min_distance",
    "score_distance_ratio",
    "score_scaled_distance_ratio",
    "gaussian_weighted",
)
_HIGHEST_CELL = "gaussian_weighted_const"  # the ranking of argmax_postprocessing
_UNBUILT_TASKS = {
    "densepose_estimation_task": "DensePose",
    "track_estimation_task": "tracking",
    "temporal_offset_task": "tracking by offsets between frames",
    "deepmac_mask_estimation": "Deep-MAC",
}


def check_center_net(config: TrainEvalPipelineConfig, folder: Path) -> Iterator[Problem]:
    """Yield an error for every setting with which a CenterNet cannot be built.

    folder: the config's, from which its label map of keypoints is looked up as well.
    """
    if config.model is None or config.model.center_net is None:
        return
    written = config.model.center_net.keypoint_label_map_path
    if written and find_files(written, folder).files:  # else check_files says what is wrong
        try:
            task_keypoints(config.model.center_net, folder)
        except HoldfastError as error:
            yield Problem(
                path="model.center_net.keypoint_label_map_path",
                message=error.message,
                fix=error.fix,
            )
    for problem in center_net_problems(config.model.center_net):
        yield replace(problem, path=f"model.center_net.{problem.path}")


def center_net_problems(config: CenterNet) -> Iterator[Problem]:
    """Yield the same, with paths from the detector on."""
    for field, name in _UNBUILT_TASKS.items():
        if getattr(config, field) is not None:
            yield Problem(
                path=field,
                message=f"Holdfast does not build {name}",
                fix="remove it; boxes, keypoints and masks (mask_estimation_task) are built",
            )
    if config.keypoint_estimation_task and not config.keypoint_label_map_path:
        yield Problem(
            path="keypoint_label_map_path",
            message="keypoint tasks need a label map of keypoints",
            fix="write the path of a label map with `keypoints { id: 0 label: … }`",
        )
    if config.object_detection_task is None and not config.keypoint_estimation_task:
        yield Problem(
            path="object_detection_task",
            message="CenterNet needs a task of boxes or of keypoints",
            fix="add `object_detection_task { localization_loss { l1_localization_loss { } } }`",
        )
    yield from _of_features(config.feature_extractor or CenterNetFeatureExtractor())
    yield from _of_centers(config)
    yield from _of_boxes(config)
    names = [task.task_name for task in config.keypoint_estimation_task]
    for index, task in enumerate(config.keypoint_estimation_task):
        path = f"keypoint_estimation_task[{index}]"
        if names.index(task.task_name) < index:
            yield Problem(
                path=f"{path}.task_name",
                message=f"two keypoint tasks are called {task.task_name!r}",
                fix="give each task a name of its own",
            )
        for problem in _of_keypoints(config, task):
            yield replace(problem, path=f"{path}.{problem.path}")
    yield from _of_masks(config)
    yield from _of_detections(config)


def _of_features(config: CenterNetFeatureExtractor) -> Iterator[Problem]:
    known = extractor(config.type)
    is_mobile = known is not None and known.backbone == "mobilenet_v2"
    is_pyramid = is_mobile and known is not None and known.neck == "fpn"
    for name, is_obeyed in {
        "use_depthwise": False,  # the OD API reads it, and no network of CenterNet takes it
        "depth_multiplier": is_mobile,
        "use_separable_conv": is_pyramid,
        "upsampling_interpolation": is_pyramid,
    }.items():
        unset = CenterNetFeatureExtractor()
        if not is_obeyed and getattr(config, name) != getattr(unset, name):
            yield Problem(
                path=f"feature_extractor.{name}",
                severity="warning",
                message=f"{config.type} does not obey it, here as in the OD API",
                fix="remove it",
            )
    if config.upsampling_interpolation not in ("nearest", "bilinear"):
        yield Problem(
            path="feature_extractor.upsampling_interpolation",
            message=f"there is no interpolation {config.upsampling_interpolation!r}",
            fix="write nearest or bilinear",
        )
    for name in ("channel_means", "channel_stds"):
        values = getattr(config, name)
        if values and (len(values) != 3 or (name == "channel_stds" and 0.0 in values)):
            yield Problem(
                path=f"feature_extractor.{name}",
                message=f"{len(values)} values, where three that are not 0 are needed",
                fix="write one for each of red, green and blue",
            )


def _of_centers(config: CenterNet) -> Iterator[Problem]:
    params = config.object_center_params or ObjectCenterParams()
    if params.use_labeled_classes:
        yield Problem(
            path="object_center_params.use_labeled_classes",
            message="which classes an image was checked for is not read",
            fix="remove it: all classes count as checked",
        )
    if params.keypoint_weights_for_center and (
        len(config.keypoint_estimation_task) != 1 or config.object_detection_task is not None
    ):
        yield Problem(
            path="object_center_params.keypoint_weights_for_center",
            message="it needs exactly one keypoint task, and no object_detection_task",
            fix="remove it",
        )
    if not 0.0 < params.min_box_overlap_iou < 1.0:
        yield Problem(
            path="object_center_params.min_box_overlap_iou",
            message=f"{params.min_box_overlap_iou:g} is not between 0 and 1",
            fix="write 0.7",
        )
    if params.max_box_predictions < 1:
        yield Problem(
            path="object_center_params.max_box_predictions",
            message=f"{params.max_box_predictions} detections cannot be found",
            fix="write 100",
        )
    yield from _classification(params.classification_loss, "object_center_params")
    yield from _head(params.center_head_params, "object_center_params.center_head_params")


def _of_boxes(config: CenterNet) -> Iterator[Problem]:
    task = config.object_detection_task
    if task is None:
        return
    yield from _localization(task.localization_loss, "object_detection_task")
    for name in ("scale_head_params", "offset_head_params"):
        yield from _head(getattr(task, name), f"object_detection_task.{name}")


def _of_keypoints(config: CenterNet, task: KeypointEstimation) -> Iterator[Problem]:
    if task.predict_depth:
        yield Problem(
            path="predict_depth",
            message="Holdfast does not build the depth of keypoints",
            fix="remove it",
        )
    has_one = len(config.keypoint_estimation_task) == 1 and config.num_classes == 1
    mode = task.candidate_ranking_mode
    if task.argmax_postprocessing:
        yield from _of_highest_cell(config, task, has_one)
    elif mode not in RANKING_MODES:
        similar = nearest(mode, RANKING_MODES)
        yield Problem(
            path="candidate_ranking_mode",
            message=f"there is no ranking {mode!r}",
            fix=f"write {similar[0] if similar else ' or '.join(RANKING_MODES)}",
        )
    elif mode in RANKING_MODES[2:] and config.object_detection_task is None:
        yield Problem(
            path="candidate_ranking_mode",
            message=f"{mode} needs boxes, and there is no object_detection_task",
            fix="write score_distance_ratio",
        )
    loss = task.loss
    yield from _classification(loss.classification_loss if loss else None, "loss")
    yield from _localization(loss.localization_loss if loss else None, "loss")
    for name in ("heatmap_head_params", "offset_head_params", "regress_head_params"):
        yield from _head(getattr(task, name), name)


def _of_highest_cell(
    config: CenterNet, task: KeypointEstimation, has_one: bool
) -> Iterator[Problem]:
    """Yield what argmax_postprocessing cannot do without."""
    needs = {
        "one class and one keypoint task": has_one,
        "an object_detection_task": config.object_detection_task is not None,
        "per_keypoint_offset: true": task.per_keypoint_offset,
        f'candidate_ranking_mode: "{_HIGHEST_CELL}"': (
            task.candidate_ranking_mode == _HIGHEST_CELL
        ),
    }
    for needed, is_there in needs.items():
        if not is_there:
            yield Problem(
                path="argmax_postprocessing", message=f"it needs {needed}", fix="remove it"
            )


def _of_masks(config: CenterNet) -> Iterator[Problem]:
    task = config.mask_estimation_task
    if task is None:
        return
    yield from _classification(task.classification_loss, "mask_estimation_task")
    yield from _head(task.mask_head_params, "mask_estimation_task.mask_head_params")


def _of_detections(config: CenterNet) -> Iterator[Problem]:
    after = config.post_processing
    if after is not None and (
        after.score_converter is not ScoreConverter.IDENTITY or after.calibration_config is not None
    ):
        yield Problem(
            path="post_processing.score_converter",
            severity="warning",
            message="scores of CenterNet are always a sigmoid's, here as in the OD API",
            fix="remove it, and calibration_config",
        )
    if config.output_prediction_dict:
        yield Problem(
            path="output_prediction_dict",
            severity="warning",
            message="the maps behind detections are a call's result, and never part of detections",
            fix="remove it",
        )


def _classification(loss: ClassificationLoss | None, path: str) -> Iterator[Problem]:
    chosen = loss.which("classification_loss") if loss else None
    if chosen is None or chosen == "weighted_dice_classification_loss":
        yield Problem(
            path=f"{path}.classification_loss",
            message="it is missing"
            if chosen is None
            else "Holdfast does not support the Dice loss",
            fix="write penalty_reduced_logistic_focal_loss { alpha: 2.0 beta: 4.0 }",
        )


def _localization(loss: LocalizationLoss | None, path: str) -> Iterator[Problem]:
    chosen = loss.which("localization_loss") if loss else None
    if chosen is None or chosen in ("weighted_iou", "weighted_giou"):
        yield Problem(
            path=f"{path}.localization_loss",
            message="it is missing" if chosen is None else f"{chosen} compares boxes, not offsets",
            fix="write l1_localization_loss { }",
        )


def _head(params: PredictionHeadParams | None, path: str) -> Iterator[Problem]:
    if params is not None and len(params.num_filters) != len(params.kernel_sizes):
        yield Problem(
            path=path,
            message=f"{len(params.num_filters)} num_filters for {len(params.kernel_sizes)} "
            "kernel_sizes",
            fix="write one of each for each layer",
        )
