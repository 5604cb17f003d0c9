"""The training step of a config, traced and never run, for the memory planner."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import tensorflow as tf

from holdfast.config.schema.optimizer import Optimizer as OptimizerConfig
from holdfast.config.schema.pipeline import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.data.sample import Batch, GroundTruth
from holdfast.memory.plan import BatchShape, StepSettings
from holdfast.memory.recovery import release
from holdfast.memory.traced_step import TracedStep
from holdfast.models.batch_norm import trains_batch_norm
from holdfast.models.detectors.build import build_detector
from holdfast.training import build
from holdfast.training.session import named_blocks, rematerialize
from holdfast.training.step import TrainingStep

_TEXT_BYTES = 24  # of a string in a tensor, if it is short


class BuiltStep(NamedTuple):
    """A detector with fresh weights, and the step that trains it."""

    detector: Any
    step: TrainingStep


def trace_step(
    config: TrainEvalPipelineConfig, settings: StepSettings, shape: BatchShape
) -> TracedStep:
    """Trace the step for a batch of a shape; nothing is run, no data and no weights are read."""
    detector, step = build_step(config, settings)
    return traced_step(detector, step, batch_specification(settings.batch_size, shape))


class StepTracer:
    """Traces one step after the other with the same weights, which are built once a precision."""

    def __init__(self, config: TrainEvalPipelineConfig, shape: BatchShape) -> None:
        self._config = config
        self._shape = shape
        self._built: dict[str, BuiltStep] = {}

    def __call__(self, settings: StepSettings) -> TracedStep:
        """Trace the step of these settings; what was traced before is forgotten."""
        if settings.precision not in self._built:
            self._built[settings.precision] = build_step(self._config, settings)
        detector, step = self._built[settings.precision]
        rematerialize(detector, settings.rematerialize)
        step.split(settings.accumulation)
        release()
        return traced_step(detector, step, batch_specification(settings.batch_size, self._shape))


def traced_step(detector: Any, step: TrainingStep, specification: Batch) -> TracedStep:
    """Trace a step that exists, for batches as specified; it then need not be traced again."""
    traced = step.run.get_concrete_function(specification, tf.TensorSpec((), tf.int64))
    averages = step.averages.variables if step.averages is not None else {}
    tensors = [each for each in tf.nest.flatten(specification) if each is not None]
    return TracedStep(
        graph=traced.graph,
        weights=tuple(_bytes(each) for each in detector.variables),
        optimizer_slots=tuple(_bytes(each) for each in step.optimizer.variables.values()),
        averages=tuple(_bytes(each) for each in averages.values()),
        input_batch=tuple(_bytes(each) for each in tensors),
        blocks=tuple(name for name, _ in named_blocks(detector)),
        trains_batch_norm=trains_batch_norm(detector),
        accumulation=step.accumulation,
    )


def build_step(config: TrainEvalPipelineConfig, settings: StepSettings) -> BuiltStep:
    """Build the detector and its step, on one device, as a training does."""
    train = config.train_config or TrainConfig()
    optimizer = train.optimizer or OptimizerConfig()
    with tf.distribute.get_strategy().scope():
        detector = build_detector(config, precision=settings.precision)
        rematerialize(detector, settings.rematerialize)
        variables = build.build_trained_variables(detector, train).variables
        step = TrainingStep(
            detector,
            build.build_optimizer(optimizer, variables),
            build.build_schedule(optimizer),
            variables=variables,
            rules=build.build_gradient_rules(train),
            averages=build.build_averages(optimizer, variables),
            loss_scale=build.build_loss_scale(settings.precision),
            penalizes=train.add_regularization_loss,
            accumulation=settings.accumulation,
        )
    return BuiltStep(detector, step)


def batch_specification(batch_size: int, shape: BatchShape) -> Batch:
    """Describe the tensors of a batch."""
    images, boxes = (batch_size,), (batch_size, shape.boxes)
    return Batch(
        images=tf.TensorSpec((*images, shape.height, shape.width, 3), tf.float32),
        sizes=tf.TensorSpec((*images, 3), tf.int32),
        truth=GroundTruth(
            boxes=tf.TensorSpec((*boxes, 4), tf.float32),
            classes=tf.TensorSpec(boxes, tf.int32),
            weights=tf.TensorSpec(boxes, tf.float32),
        ),
        source_ids=tf.TensorSpec(images, tf.string),
        positions=tf.TensorSpec(images, tf.int64),
    )


def _bytes(tensor: Any) -> int:
    """Give the size of a variable, or of a tensor that is described."""
    item_bytes = int(tf.as_dtype(tensor.dtype).size) or _TEXT_BYTES
    return int(math.prod(tensor.shape)) * item_bytes
