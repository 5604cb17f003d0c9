"""What the network does with one batch of an evaluation: detect, and weigh the loss if asked."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from holdfast.data.input.evaluation_input import EvaluationBatch, LabeledTruth
from holdfast.data.sample import GroundTruth, Tensor
from holdfast.models.detectors.interface import Detector
from holdfast.models.inference.detections import Detections

REGULARIZATION = "Loss/regularization_loss"
TOTAL = "Loss/total_loss"


class EvaluatedBatch(NamedTuple):
    """What came out of one batch."""

    detections: Detections
    losses: dict[str, Tensor]  # by the OD API's names, of the real images; {} if not asked for


class EvaluationStep:
    """Runs a detector on batches, of whatever shapes; it is traced a few times at most."""

    def __init__(
        self, detector: Detector, *, with_loss: bool = False, with_regularization: bool = True
    ) -> None:
        self._detector = detector
        self._with_loss = with_loss
        self._with_regularization = with_regularization
        # Images of another shape make the second trace, which takes any shape.
        self._run = tf.function(self._evaluate, autograph=False, reduce_retracing=True)

    def __call__(self, batch: EvaluationBatch) -> EvaluatedBatch:
        """Give the detections of a batch, and its losses."""
        evaluated: EvaluatedBatch = self._run(*_arguments(batch))
        return evaluated

    def trace(self, specification: EvaluationBatch) -> Any:
        """Trace batches as specified, and give the graph; they then need not be traced again."""
        return self._run.get_concrete_function(*_arguments(specification)).graph

    def _evaluate(
        self, images: Tensor, sizes: Tensor, truth: LabeledTruth, is_real: Tensor
    ) -> EvaluatedBatch:
        inputs = self._detector.normalize(images, sizes)
        if not self._with_loss:
            predictions = self._detector(inputs, sizes=sizes, training=False)
            return EvaluatedBatch(self._detector.detections(predictions, sizes), {})
        seen = _in_padded_frame(truth, sizes, images)
        # With the truth, a detector of two stages says what its proposals should have been.
        predictions = self._detector(inputs, sizes=sizes, truth=seen, training=False)
        detections = self._detector.detections(predictions, sizes)
        targets = self._detector.targets(seen, sizes, predictions)
        terms = dict(self._detector.loss_terms(predictions, _of_real_images(targets, is_real)))
        if self._with_regularization:
            terms[REGULARIZATION] = self._detector.regularization_loss()
        return EvaluatedBatch(detections, terms | {TOTAL: tf.add_n(list(terms.values()))})


def _arguments(batch: EvaluationBatch) -> tuple[Any, ...]:
    """List what the network needs of a batch."""
    # Encoded masks are compared outside of the graph, and a data set describes None by an object.
    truth = LabeledTruth(*(each if _is_tensor(each) else None for each in batch.truth))
    return batch.images, batch.sizes, truth._replace(encoded_masks=None), batch.is_real


def _is_tensor(value: Any) -> bool:
    return value is not None and not isinstance(value, tf.NoneTensorSpec)


def _in_padded_frame(truth: LabeledTruth, sizes: Tensor, images: Tensor) -> GroundTruth:
    scale = tf.cast(sizes[:, :2], tf.float32) / tf.cast(tf.shape(images)[1:3], tf.float32)  # (B, 2)
    keypoints = truth.keypoints
    if keypoints is not None:
        keypoints = keypoints * scale[:, None, None, :]
    return GroundTruth(
        boxes=truth.boxes * tf.concat([scale, scale], axis=-1)[:, None, :],
        classes=truth.classes,
        weights=truth.weights,
        confidences=truth.confidences,
        is_crowd=truth.is_crowd,
        group_of=truth.group_of,
        difficult=truth.difficult,
        keypoints=keypoints,
        visibilities=truth.visibilities,
        mask_bits=truth.mask_bits,
    )


def _of_real_images(targets: Any, is_real: Tensor) -> Any:
    """Take all weight from the targets of images that only fill the batch, also of inner ones."""
    fields = getattr(targets, "_fields", None)
    if fields is None:
        is_tuple = isinstance(targets, tuple)
        return tuple(_of_real_images(each, is_real) for each in targets) if is_tuple else targets
    return type(targets)(
        *(
            _weighed(value, is_real)
            if name.endswith("weights")
            else _of_real_images(value, is_real)
            for name, value in zip(fields, targets, strict=True)
        )
    )


def _weighed(weights: Tensor, is_real: Tensor) -> Tensor:
    factor = tf.cast(is_real, weights.dtype)
    return weights * tf.reshape(factor, [-1] + [1] * (len(weights.shape) - 1))
