"""What an export may find: thresholds and numbers that a client wants other than a training."""

from __future__ import annotations

from typing import Any

from holdfast.config.facts.networks import detector_of
from holdfast.config.schema.center_net import CenterNet
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.post_processing import BatchNonMaxSuppression, PostProcessing
from holdfast.config.schema.ssd import Ssd
from holdfast.config.text.overrides import apply_overrides
from holdfast.errors import ConfigError, HoldfastError
from holdfast.export.export_choices import ExportSettings


def limited(config: TrainEvalPipelineConfig, settings: ExportSettings) -> TrainEvalPipelineConfig:
    """Give the config with the score threshold, number of detections and suppression asked for.

    The threshold is that of the suppression, which gets cheaper by it.
    """
    if config.model is not None and isinstance(detector_of(config.model), CenterNet):
        return _limited_centers(config, settings)
    place, now = _suppression(config)
    max_detections = settings.max_detections
    overrides: dict[str, Any] = {}
    if settings.score_threshold is not None:
        overrides["score_threshold"] = settings.score_threshold
    if settings.fast_suppression:
        overrides["use_class_agnostic_nms"] = True
    if max_detections is not None:
        overrides["max_total_detections"] = max_detections
        overrides["max_detections_per_class"] = min(max_detections, now.max_detections_per_class)
    return _set(
        config,
        {f"{place}.batch_non_max_suppression.{key}": value for key, value in overrides.items()},
    )


def least_score(config: TrainEvalPipelineConfig) -> float:
    """Give the score below which suppression looks at nothing; 0 without one."""
    return _suppression(config)[1].score_threshold


def _suppression(config: TrainEvalPipelineConfig) -> tuple[str, BatchNonMaxSuppression]:
    """Find where the config sets the suppression of detections, and what it sets."""
    found: PostProcessing | None = None
    match detector_of(config.model) if config.model else None:
        case Ssd() as detector:
            place, found = "model.ssd.post_processing", detector.post_processing
        case FasterRcnn() as stages:
            place = "model.faster_rcnn.second_stage_post_processing"
            found = stages.second_stage_post_processing
        case _:
            place = ""
    settings = found or PostProcessing()
    return place, settings.batch_non_max_suppression or BatchNonMaxSuppression()


def _limited_centers(
    config: TrainEvalPipelineConfig, settings: ExportSettings
) -> TrainEvalPipelineConfig:
    wanted = {
        "--score-threshold": settings.score_threshold is not None,
        "--fast-nms": settings.fast_suppression,
    }
    for option, is_wanted in wanted.items():
        if is_wanted:
            raise HoldfastError(
                f"{option} is about a suppression, and a CenterNet has none.",
                fix="Leave it out: --max-detections bounds what is found.",
            )
    if settings.max_detections is None:
        return config
    place = "model.center_net.object_center_params.max_box_predictions"
    return _set(config, {place: settings.max_detections})


def _set(config: TrainEvalPipelineConfig, overrides: dict[str, Any]) -> TrainEvalPipelineConfig:
    changed, problems = apply_overrides(config, overrides)
    if problems:
        raise ConfigError("the config", tuple(problems))
    return changed
