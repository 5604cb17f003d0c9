"""The step and the evaluation of a config, traced and never run, for the memory planner."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tensorflow as tf

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.data.input.evaluation_input import EvaluationBatch, LabeledTruth
from holdfast.data.sample import Batch, GroundTruth
from holdfast.evaluation.build_evaluation import build_evaluation_step
from holdfast.evaluation.evaluation_step import EvaluationStep
from holdfast.memory.plan import BatchShape, StepSettings
from holdfast.memory.predict.traced_step import TracedEvaluation, TracedStep
from holdfast.models.detectors.build_detector import build_detector
from holdfast.models.detectors.interface import Detector
from holdfast.models.detectors.region_chunks import most_region_chunks
from holdfast.models.layers.batch_norm import trains_batch_norm
from holdfast.training import build_training
from holdfast.training.build_training_step import build_training_step
from holdfast.training.fitting.worst_batch import WorstBatch, WorstEvaluation
from holdfast.training.session import compute_as, named_blocks
from holdfast.training.step.training_step import TrainingStep
from holdfast.training.surviving.out_of_memory import release
from holdfast.training.teaching.build_teaching import Student

_TEXT_BYTES = 24  # of a string in a tensor, if it is short


class BuiltStep(NamedTuple):
    """A detector with fresh weights, and the step that trains it."""

    detector: Detector
    step: TrainingStep


def trace_step(
    config: TrainEvalPipelineConfig,
    settings: StepSettings,
    shape: BatchShape,
    teacher: str | None = None,
) -> TracedStep:
    """Trace the step for a batch of a shape; nothing is run and no data is read."""
    detector, step = build_step(config, settings, teacher=teacher)
    specification = batch_specification(settings.batch_size, shape, detector.truth_fields)
    return traced_step(detector, step, specification)


class StepTracer:
    """Traces one step after the other with the same weights, which are built once a precision."""

    def __init__(
        self, config: TrainEvalPipelineConfig, worst: WorstBatch, teacher: str | None = None
    ) -> None:
        self._config = config
        self._worst = worst
        self._teacher = teacher
        self._built: dict[str, BuiltStep] = {}

    def step(self, settings: StepSettings) -> TracedStep:
        """Trace the step of these settings; what was traced before is forgotten."""
        detector, step = self._build(settings)
        compute_as(detector, settings)
        step.split(settings.accumulation)
        release()
        specification = batch_specification(
            settings.batch_size, self._worst.shape, detector.truth_fields
        )
        return traced_step(detector, step, specification)

    def evaluation(self, settings: StepSettings) -> TracedEvaluation | None:
        """Trace the evaluation that goes with a step; None without one."""
        worst = self._worst.evaluation
        if worst is None:
            return None
        detector = self._build(settings).detector
        compute_as(detector, settings)
        step = build_evaluation_step(self._config, detector, with_loss=True)
        specification = evaluation_specification(worst, detector.truth_fields)
        return traced_evaluation(step, specification, worst.batches)

    def _build(self, settings: StepSettings) -> BuiltStep:
        if settings.precision not in self._built:
            built = build_step(self._config, settings, teacher=self._teacher)
            self._built[settings.precision] = built
        return self._built[settings.precision]


def traced_evaluation(
    step: EvaluationStep, specification: EvaluationBatch, batches: int
) -> TracedEvaluation:
    """Trace an evaluation that exists, for batches as specified."""
    return TracedEvaluation(
        graph=step.trace(specification),
        input_batch=tuple(_bytes(each) for each in _tensors(specification)),
        batches=batches,
    )


def traced_step(detector: Detector, step: TrainingStep, specification: Batch) -> TracedStep:
    """Trace a step that exists, for batches as specified; it then need not be traced again."""
    traced = step.run.get_concrete_function(specification, tf.TensorSpec((), tf.int64))
    averages = step.averages.variables if step.averages is not None else {}
    teacher = step.loss.teaching.teacher.variables if step.loss.teaching is not None else ()
    return TracedStep(
        graph=traced.graph,
        weights=tuple(_bytes(each) for each in detector.variables),
        teacher=tuple(_bytes(each) for each in teacher),
        optimizer_slots=tuple(_bytes(each) for each in step.optimizer.variables.values()),
        averages=tuple(_bytes(each) for each in averages.values()),
        input_batch=tuple(_bytes(each) for each in _tensors(specification)),
        blocks=tuple(name for name, _ in named_blocks(detector)),
        trains_batch_norm=trains_batch_norm(detector),
        accumulation=step.accumulation,
        most_region_chunks=most_region_chunks(detector),
    )


def build_step(
    config: TrainEvalPipelineConfig,
    settings: StepSettings,
    *,
    class_weights: Sequence[float] | None = None,
    teacher: str | None = None,
    seed: int = 0,
) -> BuiltStep:
    """Build the detector and its step, on one device, as a training does."""
    train = config.train_config or TrainConfig()
    with tf.distribute.get_strategy().scope():
        detector = build_detector(config, precision=settings.precision)
        compute_as(detector, settings)
        variables = build_training.build_trained_variables(detector, train).variables
        student = Student(
            detector=detector,
            config=config,
            folder=Path(config.folder),
            precision=settings.precision,
        )
        step = build_training_step(
            student,
            variables,
            teacher=teacher,
            class_weights=class_weights,
            accumulation=settings.accumulation,
            seed=seed,
        )
    return BuiltStep(detector, step)


def batch_specification(
    batch_size: int, shape: BatchShape, truth_fields: frozenset[str] = frozenset()
) -> Batch:
    """Describe the tensors of a batch; truth_fields: what the detector learns beyond boxes."""
    images, boxes = (batch_size,), (batch_size, shape.boxes)
    return Batch(
        images=tf.TensorSpec((*images, shape.height, shape.width, 3), tf.float32),
        sizes=tf.TensorSpec((*images, 3), tf.int32),
        truth=GroundTruth(
            boxes=tf.TensorSpec((*boxes, 4), tf.float32),
            classes=tf.TensorSpec(boxes, tf.int32),
            weights=tf.TensorSpec(boxes, tf.float32),
            **_further_truth(batch_size, shape, truth_fields),
        ),
        source_ids=tf.TensorSpec(images, tf.string),
        positions=tf.TensorSpec(images, tf.int64),
    )


def _further_truth(
    batch_size: int, shape: BatchShape, truth_fields: frozenset[str]
) -> dict[str, tf.TensorSpec]:
    """Describe the optional fields of the ground truth, of GroundTruth's names."""
    boxes = (batch_size, shape.boxes)
    bits = (*boxes, shape.height, -(-shape.width // 8))
    points = (*boxes, shape.keypoints)
    known = {
        "masks": ("mask_bits", tf.TensorSpec(bits, tf.uint8)),
        "keypoints": ("keypoints", tf.TensorSpec((*points, 2), tf.float32)),
        "visibilities": ("visibilities", tf.TensorSpec(points, tf.bool)),
        "confidences": ("confidences", tf.TensorSpec(boxes, tf.float32)),
    }
    flags = {name: (name, tf.TensorSpec(boxes, tf.bool)) for name in truth_fields - set(known)}
    return dict((known | flags)[name] for name in truth_fields)


def evaluation_specification(
    worst: WorstEvaluation, truth_fields: frozenset[str] = frozenset()
) -> EvaluationBatch:
    """Describe the tensors of a batch of an evaluation."""
    shape = worst.shape
    images, objects = (worst.batch_size,), (worst.batch_size, shape.boxes)
    kinds = {"classes": tf.int32, "is_crowd": tf.bool, "group_of": tf.bool, "difficult": tf.bool}
    truth = {
        name: tf.TensorSpec(objects, kinds.get(name, tf.float32))
        for name in LabeledTruth._fields
        if name not in LabeledTruth._field_defaults
    } | {
        "boxes": tf.TensorSpec((*objects, 4), tf.float32),
        "counts": tf.TensorSpec(images, tf.int32),
    }
    evaluated = truth_fields & {"masks", "keypoints"}
    if "keypoints" in evaluated:
        evaluated |= {"visibilities"}
    truth |= _further_truth(worst.batch_size, shape, evaluated)
    return EvaluationBatch(
        images=tf.TensorSpec((*images, shape.height, shape.width, 3), tf.float32),
        sizes=tf.TensorSpec((*images, 3), tf.int32),
        original_sizes=tf.TensorSpec((*images, 2), tf.int32),
        truth=LabeledTruth(**truth),
        source_ids=tf.TensorSpec(images, tf.string),
        is_real=tf.TensorSpec(images, tf.bool),
    )


def _tensors(specification: Batch | EvaluationBatch) -> list[tf.TensorSpec]:
    return [each for each in tf.nest.flatten(specification) if isinstance(each, tf.TensorSpec)]


def _bytes(tensor: Any) -> int:
    """Give the size of a variable, or of a tensor that is described."""
    item_bytes = int(tf.as_dtype(tensor.dtype).size) or _TEXT_BYTES
    return int(math.prod(tensor.shape)) * item_bytes
