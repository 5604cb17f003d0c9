"""The gradients of a batch's loss, computed at once or in pieces, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf

from holdfast.data.sample import Batch
from holdfast.geometry.tensor import Tensor
from holdfast.models.layers.batch_norm import collected_statistics
from holdfast.models.layers.fake_quantization import observed_ranges
from holdfast.training.step.batch_loss import BatchLoss, after
from holdfast.training.step.followed_state import FollowedRanges, FollowedStatistics

PENALTY = "Loss/regularization_loss"

LossesAndGradients = tuple[dict[str, Tensor], list[Tensor | None]]


class BatchGradients:
    """Takes gradients of what one replica has of a batch, and moves what follows batches.

    scaled: what the loss is turned into before its gradients are taken.
    """

    def __init__(
        self,
        loss: BatchLoss,
        variables: Sequence[keras.Variable],
        scaled: Callable[[Tensor], Tensor],
    ) -> None:
        self._loss = loss
        self._variables = tuple(variables)
        self._scaled = scaled
        self._ranges = FollowedRanges(loss.detector)

    def of(self, batch: Batch, pieces: int) -> LossesAndGradients:
        """Give the losses and the gradients of a batch; batch norm sees the pieces by themselves.

        The penalty counts among the losses. None: a variable that no loss depends on.
        """
        batch = self._loss.weighed(batch)
        return self._at_once(batch) if pieces == 1 else self._in_pieces(batch, pieces)

    def _at_once(self, batch: Batch) -> LossesAndGradients:
        wanted = self._loss.wanted(batch)
        normalizers = self._loss.normalizers(batch, wanted.prepared)
        with tf.GradientTape() as tape, observed_ranges() as seen:
            losses = self._loss.terms(batch, wanted, normalizers)
            total = self._scaled(tf.add_n(list(losses.values())))
        gradients = tape.gradient(total, self._values())
        self._ranges.follow(self._ranges.joined(self._ranges.unseen(), seen))
        penalty, more = self._penalty_gradients(when=gradients)
        return losses | penalty, list(map(_added, gradients, more))

    def _in_pieces(self, batch: Batch, count: int) -> LossesAndGradients:
        """Add up the pieces in a loop, so that one piece's activations are alive at a time."""
        pieces = _split(batch, count)
        # The targets themselves are made again for each piece: of all images they would be kept.
        normalizers = self._loss.normalizers(batch, self._loss.prepare(batch))
        penalty, start = self._penalty_gradients(when=())
        start = [
            tf.zeros_like(variable) if gradient is None else gradient
            for variable, gradient in zip(self._values(), start, strict=True)
        ]
        names = tuple(normalizers)

        def piece(index: Tensor, sums: Any, gradients: Any, statistics: Any, reaches: Any) -> Any:
            own = tf.nest.map_structure(lambda v: None if v is None else v[index], pieces)
            wanted = self._loss.wanted(own)
            with (
                tf.GradientTape() as tape,
                collected_statistics() as seen,
                observed_ranges() as ranges,
            ):
                terms = self._loss.terms(own, wanted, normalizers)
                total = self._scaled(tf.add_n(list(terms.values())))
            more = tape.gradient(total, self._values(), unconnected_gradients="zero")
            gradients = [old + new for old, new in zip(gradients, more, strict=True)]
            sums = [old + terms[name] for old, name in zip(sums, names, strict=True)]
            followed = norms.followed(statistics, seen)
            return index + 1, sums, gradients, followed, self._ranges.joined(reaches, ranges)

        norms = FollowedStatistics(self._loss.detector)
        zeros = [tf.zeros(()) for _ in names]
        _, sums, gradients, statistics, reaches = tf.while_loop(
            lambda index, *_: index < count,
            piece,
            (0, zeros, start, norms.present(), self._ranges.unseen()),
            parallel_iterations=1,
        )
        self._ranges.follow(reaches)
        norms.keep(statistics)
        return dict(zip(names, sums, strict=True)) | penalty, list(gradients)

    def _penalty_gradients(self, *, when: Sequence[Tensor | None]) -> LossesAndGradients:
        """Give the penalty on the weights, and its gradients, when the others are there.

        They are as large as the weights. Since they depend on nothing else, they would be made
        first and kept through the whole step.
        """
        with after([gradient for gradient in when if gradient is not None]):
            with tf.GradientTape() as tape:
                penalty = self._loss.penalty()
                scaled = self._scaled(penalty)
            gradients = tape.gradient(scaled, self._values())
        return {PENALTY: penalty}, gradients

    def _values(self) -> list[tf.Variable]:
        return [variable.value for variable in self._variables]


def _added(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    if first is None or second is None:
        return second if first is None else first
    return first + second


def _split(batch: Batch, count: int) -> Batch:
    """Give every field a first axis of pieces."""

    def pieces(values: Tensor) -> Tensor:
        if values is None:
            return None
        inner = tf.shape(values)[1:]  # an image's height and width may not be known
        split = tf.reshape(values, tf.concat([[count, values.shape[0] // count], inner], axis=0))
        split.set_shape([count, values.shape[0] // count, *values.shape[1:]])
        return split

    split: Batch = tf.nest.map_structure(pieces, batch)
    return split
