"""The loss of a batch, or of a piece of it: what it has to learn, and what the network says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from holdfast.data.sample import Batch
from holdfast.errors import HoldfastError
from holdfast.geometry.chance import image_seeds
from holdfast.geometry.tensor import Tensor
from holdfast.models.detectors.interface import Detector, Predictions, Prepared
from holdfast.models.layers.randomness import looking_at
from holdfast.training.teaching.teaching import Lesson, Teaching


class Wanted(NamedTuple):
    """What a piece of a batch has to learn, before any network that is trained runs."""

    prepared: Prepared
    lesson: Lesson | None  # None: there is no teacher


class BatchLoss:
    """The terms of the loss and the penalty, of a detector that may have a teacher.

    class_weights: of each class, by its number. penalizes: the penalties on kernels are part of the
    loss. seed: what is drawn at random follows from it and each image's position in the stream.
    """

    def __init__(
        self,
        detector: Detector,
        *,
        teaching: Teaching | None = None,
        class_weights: Sequence[float] | None = None,
        penalizes: bool = True,
        seed: int = 0,
    ) -> None:
        self.detector = detector
        self.teaching = teaching
        self.class_weights = class_weights
        self._penalizes = penalizes
        self._seed = seed

    def predict(self, batch: Batch) -> tuple[Prepared, Predictions]:
        """Give what a piece of a batch has to learn, and what the network says in training."""
        batch = self.weighed(batch)
        prepared = self.prepare(batch)
        return prepared, self._predictions(batch, Wanted(prepared, None))

    def weighed(self, batch: Batch) -> Batch:
        """Let each box of a batch count as much as its class."""
        if self.class_weights is None:
            return batch
        factors = tf.gather(tf.constant(self.class_weights, tf.float32), batch.truth.classes)
        truth = batch.truth._replace(weights=batch.truth.weights * factors)
        return batch._replace(truth=truth)

    def prepare(self, batch: Batch) -> Prepared:
        """Make the detector's targets for a weighed batch."""
        seeds = image_seeds(self._seed, batch.positions)
        return self.detector.prepare(batch.truth, batch.sizes, _input_shape(batch), seeds)

    def wanted(self, batch: Batch) -> Wanted:
        """Make all targets for a weighed batch; a teacher is asked here, without gradients."""
        prepared, lesson = self.prepare(batch), None
        if self.teaching is not None:
            seeds = image_seeds(self._seed, batch.positions)
            lesson = self.teaching.lesson(batch, _input_shape(batch), seeds)
        return Wanted(prepared, lesson)

    def normalizers(self, batch: Batch, prepared: Prepared) -> dict[str, Tensor]:
        """Count what loss terms are divided by, over all replicas."""
        own = self.detector.normalizers(prepared)
        if self.teaching is not None:
            own = own | self.teaching.normalizers(batch, own)
        context = tf.distribute.get_replica_context()
        summed = context.all_reduce(tf.distribute.ReduceOp.SUM, own)
        return {name: tf.stop_gradient(value) for name, value in summed.items()}

    def terms(
        self, batch: Batch, wanted: Wanted, normalizers: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        """Give the terms of the loss of a weighed batch; the network runs when targets are there.

        Side by side with it, small tensors of the targets would take the place of freed large ones.
        """
        predictions = self._predictions(batch, wanted)
        terms = self.detector.terms(predictions, wanted.prepared, normalizers)
        if self.teaching is not None and wanted.lesson is not None:
            terms |= self.teaching.terms(predictions, wanted.lesson, normalizers)
        _check_names(terms, normalizers)
        return terms

    def penalty(self) -> Tensor:
        """Give the penalty; replicas have the same weights, and each a share of it."""
        if not self._penalizes:
            return tf.zeros(())
        replicas = tf.distribute.get_strategy().num_replicas_in_sync
        return self.detector.regularization_loss() / replicas

    def _predictions(self, batch: Batch, wanted: Wanted) -> Predictions:
        with after([each for each in tf.nest.flatten(wanted) if each is not None]):
            images = tf.identity(batch.images)
        inputs = self.detector.normalize(images, batch.sizes)
        with looking_at(image_seeds(self._seed, batch.positions)):
            return self.detector(
                inputs,
                sizes=batch.sizes,
                truth=batch.truth,
                prepared=wanted.prepared,
                training=True,
            )


def after(values: Sequence[Tensor]) -> Any:
    """Let what is done in a with block wait for values: each operation for one, not for all."""
    with tf.control_dependencies(values):
        ready = tf.no_op()
    return tf.control_dependencies([ready])


def _input_shape(batch: Batch) -> tuple[Tensor, Tensor]:
    """Give height and width of the images: numbers where they are known, else tensors."""
    height, width = batch.images.shape[1:3]
    if height is None or width is None:
        shape = tf.shape(batch.images)
        return shape[1], shape[2]
    return int(height), int(width)


def _check_names(terms: Mapping[str, Tensor], normalizers: Mapping[str, Tensor]) -> None:
    if terms.keys() != normalizers.keys():
        raise HoldfastError(
            f"The detector gives the loss terms {', '.join(terms)}, but normalizers for "
            f"{', '.join(normalizers)}.",
            fix="Let its terms() and normalizers() name the same terms.",
        )
