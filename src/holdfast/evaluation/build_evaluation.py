"""Turn a config into the parts of an evaluation."""

from __future__ import annotations

from collections import Counter

from holdfast.config.facts.input_sizes import input_shape
from holdfast.config.facts.learned_fields import learned_fields
from holdfast.config.facts.networks import detector_of
from holdfast.config.schema.eval import EvalConfig
from holdfast.config.schema.image_resizer import IdentityResizer, ImageResizer
from holdfast.config.schema.input_reader import InputReader
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.config.validate.unsupported import unsupported_evaluation
from holdfast.data.input.budget import DEFAULT_BUDGET_BYTES
from holdfast.data.input.build_input import build_resizer, largest_image
from holdfast.data.input.evaluation_input import EvaluationInput, evaluation_input
from holdfast.data.survey.inspection import Records
from holdfast.data.survey.statistics import Statistics
from holdfast.errors import ConfigError, HoldfastError
from holdfast.evaluation.build_keypoint_metrics import build_keypoint_metrics
from holdfast.evaluation.evaluation_step import EvaluationStep
from holdfast.evaluation.metrics.coco_boxes import CategoryMetrics
from holdfast.evaluation.metrics.metrics_set import (
    COCO,
    COCO_KEYPOINTS,
    COCO_MASKS,
    MetricsSet,
)
from holdfast.evaluation.tiled_step import TiledEvaluationStep
from holdfast.geometry.image_tiles import Tiling
from holdfast.models.detectors.interface import Detector


def build_evaluation_input(
    config: TrainEvalPipelineConfig,
    records: Records,
    statistics: Statistics,
    *,
    reader: InputReader | None = None,
    batch_size: int | None = None,
    budget_bytes: int = DEFAULT_BUDGET_BYTES,
    resizes: bool = True,
) -> EvaluationInput:
    """Make the evaluation input of a config from its records and their statistics.

    reader is the one that names the records, by default the first; batch_size is by default that of
    eval_config. Without resizing, each image is a batch of its own, as large as it is.
    """
    evaluation = config.eval_config or EvalConfig()
    reader = reader or next(iter(config.eval_input_reader), InputReader())
    batch_size = batch_size or max(1, evaluation.batch_size)
    model, detector = config.model, detector_of(config.model) if config.model else None
    if model is None or detector is None or detector.image_resizer is None:
        fix = "Write model { ssd { num_classes: … image_resizer { … } … } }."
        raise HoldfastError("The config has no detector with an image_resizer.", fix=fix)
    resizer, shape = detector.image_resizer, input_shape(model, batch_size)
    if evaluation.force_no_resize or not resizes:
        resizer, shape = ImageResizer(identity_resizer=IdentityResizer()), None
    shape = shape or largest_image(statistics)
    return evaluation_input(
        records,
        statistics,
        resize=build_resizer(resizer),
        num_classes=detector.num_classes,
        height=shape.height,
        width=shape.width,
        has_fixed_shape=shape.fixed,
        batch_size=batch_size,
        sample_1_of_n=max(1, reader.sample_1_of_n_examples),
        budget_bytes=budget_bytes,
        truth_fields=learned_fields(detector),
    )


def build_metrics_set(config: TrainEvalPipelineConfig, records: Records) -> MetricsSet:
    """Say which metrics to compute, of the classes in the records' label map."""
    evaluation = config.eval_config or EvalConfig()
    if problems := tuple(unsupported_evaluation(evaluation)):
        raise ConfigError("eval_config", problems)
    groups = evaluation.super_categories.items()
    classes = _classes(config, records)
    names = _names(config, records)
    return MetricsSet(
        classes=classes,
        names=names,
        categories=CategoryMetrics(
            included=evaluation.include_metrics_per_category,
            all_measures=evaluation.all_metrics_per_category,
            groups={group: [name.strip() for name in text.split(",")] for group, text in groups},
        ),
        keypoints=build_keypoint_metrics(
            evaluation, classes, records.keypoints, _classes_with_keypoints(config)
        )
        if COCO_KEYPOINTS in names
        else (),
    )


def _classes_with_keypoints(config: TrainEvalPipelineConfig) -> tuple[str, ...]:
    tasks = config.model.center_net if config.model else None
    named = (task.keypoint_class_name for task in tasks.keypoint_estimation_task) if tasks else ()
    return tuple(name for name in named if name)


def _names(config: TrainEvalPipelineConfig, records: Records) -> tuple[str, ...]:
    """Name the metrics; by default those of all that is learned and read."""
    evaluation = config.eval_config or EvalConfig()
    named = dict.fromkeys(evaluation.metrics_set)
    detector = detector_of(config.model) if config.model else None
    learned = learned_fields(detector) if detector is not None else frozenset()
    if not named:
        named[COCO] = None
        if "masks" in learned and records.layout.masks is not None:
            named[COCO_MASKS] = None
        if "keypoints" in learned and records.layout.num_keypoints:
            named[COCO_KEYPOINTS] = None
    if evaluation.parameterized_metric:
        named[COCO_KEYPOINTS] = None
    return tuple(named)


def build_tiled_step(
    config: TrainEvalPipelineConfig, detector: Detector, tiling: Tiling
) -> TiledEvaluationStep:
    """Make the step that detects in tiles, as many at once as eval_config takes images."""
    evaluation = config.eval_config or EvalConfig()
    return TiledEvaluationStep(detector, tiling, tiles_at_once=max(1, evaluation.batch_size))


def build_evaluation_step(
    config: TrainEvalPipelineConfig, detector: Detector, *, with_loss: bool = False
) -> EvaluationStep:
    """Make the step that evaluates batches, with the loss that the config trains by."""
    train = config.train_config or TrainConfig()
    return EvaluationStep(
        detector, with_loss=with_loss, with_regularization=train.add_regularization_loss
    )


def evaluates_averages(config: TrainEvalPipelineConfig) -> bool:
    """Tell whether the moving averages of the weights are evaluated instead of the weights.

    eval_config decides; where it says nothing, they are wherever the training keeps them.
    """
    evaluation, train = config.eval_config or EvalConfig(), config.train_config or TrainConfig()
    if evaluation.has("use_moving_averages"):
        return evaluation.use_moving_averages
    return train.optimizer is None or train.optimizer.use_moving_average


def _classes(config: TrainEvalPipelineConfig, records: Records) -> dict[int, str]:
    """Name the classes: by the label map, of equal names each with its id, else by id."""
    if records.names is None:
        detector = detector_of(config.model) if config.model else None
        count = detector.num_classes if detector else 0
        return {number: str(number) for number in range(1, count + 1)}
    uses = Counter(records.names.values())
    return {
        number: name if uses[name] == 1 else f"{name} ({number})"
        for number, name in records.names.items()
    }
