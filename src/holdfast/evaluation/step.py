"""What the network does with one batch of an evaluation: detect, and weigh the loss if asked."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import tensorflow as tf

from holdfast.data.evaluation_input import EvaluationBatch, LabelledTruth
from holdfast.data.sample import GroundTruth, Tensor
from holdfast.models.post_processing import Detections

REGULARIZATION = "Loss/regularization_loss"
TOTAL = "Loss/total_loss"
# Each traced shape holds a whole graph; a network whose input has no fixed size meets many.
TRACES_KEPT = 8


class Detector(Protocol):
    """What an evaluation needs of a detector."""

    def normalise(self, images: Tensor, sizes: Tensor) -> Tensor:
        """Turn resized images into the network's inputs."""

    def __call__(self, inputs: Tensor, *, sizes: Tensor, training: bool) -> Any:
        """Predict."""

    def detections(self, predictions: Any, sizes: Tensor) -> Detections:
        """Choose the detections."""

    def targets(self, truth: GroundTruth, sizes: Tensor, predictions: Any) -> Any:
        """Say what there is to learn."""

    def loss_terms(self, predictions: Any, targets: Any) -> dict[str, Tensor]:
        """Give the loss terms, without regularization."""

    def regularization_loss(self) -> Tensor:
        """Sum the penalties on the weights."""


class StepResult(NamedTuple):
    """What came out of one batch."""

    detections: Detections
    losses: dict[str, Tensor]  # by the OD API's names, of the real images; {} if not asked for


class EvaluationStep:
    """Runs a detector on batches; traced once for each shape, however often it is used."""

    def __init__(
        self, detector: Detector, *, with_loss: bool = False, with_regularization: bool = True
    ) -> None:
        self._detector = detector
        self._with_loss = with_loss
        self._with_regularization = with_regularization
        self._traced: OrderedDict[object, Callable[..., StepResult]] = OrderedDict()

    def __call__(self, batch: EvaluationBatch) -> StepResult:
        """Give the detections of a batch, and its losses."""
        arguments = (batch.images, batch.sizes, batch.truth, batch.is_real)
        shapes = tuple((each.shape, each.dtype) for each in tf.nest.flatten(arguments))
        if shapes not in self._traced:
            self._traced[shapes] = tf.function(self._run, autograph=False)
        self._traced.move_to_end(shapes)
        while len(self._traced) > TRACES_KEPT:
            self._traced.popitem(last=False)
        return self._traced[shapes](*arguments)

    def _run(
        self, images: Tensor, sizes: Tensor, truth: LabelledTruth, is_real: Tensor
    ) -> StepResult:
        inputs = self._detector.normalise(images, sizes)
        predictions = self._detector(inputs, sizes=sizes, training=False)
        detections = self._detector.detections(predictions, sizes)
        if not self._with_loss:
            return StepResult(detections, {})
        targets = self._detector.targets(_in_padded_frame(truth, sizes, images), sizes, predictions)
        terms = dict(self._detector.loss_terms(predictions, _of_real_images(targets, is_real)))
        if self._with_regularization:
            terms[REGULARIZATION] = self._detector.regularization_loss()
        return StepResult(detections, terms | {TOTAL: tf.add_n(list(terms.values()))})


def _in_padded_frame(truth: LabelledTruth, sizes: Tensor, images: Tensor) -> GroundTruth:
    scale = tf.cast(sizes[:, :2], tf.float32) / tf.cast(tf.shape(images)[1:3], tf.float32)  # (B, 2)
    return GroundTruth(
        boxes=truth.boxes * tf.concat([scale, scale], axis=-1)[:, None, :],
        classes=truth.classes,
        weights=truth.weights,
        confidences=truth.confidences,
        is_crowd=truth.is_crowd,
        group_of=truth.group_of,
        difficult=truth.difficult,
    )


def _of_real_images(targets: Any, is_real: Tensor) -> Any:
    """Take all weight from the targets of images that only fill the batch."""
    weights = {name: getattr(targets, name) for name in targets._fields if name.endswith("weights")}
    return targets._replace(
        **{
            name: value
            * tf.reshape(tf.cast(is_real, value.dtype), [-1] + [1] * (len(value.shape) - 1))
            for name, value in weights.items()
        }
    )
