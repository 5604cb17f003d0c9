"""One training step: the weights are moved once, by one batch, wherever its parts are computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from holdfast.data.sample import Batch, GroundTruth
from holdfast.errors import HoldfastError
from holdfast.geometry.chance import image_seeds
from holdfast.geometry.tensor import Tensor
from holdfast.models.detectors.interface import Detector, Predictions, Prepared
from holdfast.models.layers.batch_norm import (
    ChannelStatistics,
    FusedBatchNorm,
    batch_norms,
    collected_statistics,
)
from holdfast.models.layers.fake_quantization import (
    SeenRange,
    fake_quantizers,
    joined_ranges,
    observed_ranges,
)
from holdfast.models.layers.observation import layer_group
from holdfast.models.layers.randomness import looking_at
from holdfast.training.step.averaging import MovingAverages
from holdfast.training.step.gradients import GradientRules
from holdfast.training.step.optimizers import StepOptimizer
from holdfast.training.step.precision import LossScale
from holdfast.training.step.schedules import Schedule

PENALTY = "Loss/regularization_loss"
TOTAL = "Loss/total_loss"


class StepOutcome(NamedTuple):
    """What one step did."""

    losses: dict[str, Tensor]  # float32 () each: the terms, PENALTY and TOTAL, of the whole batch
    learning_rate: Tensor  # float32 ()
    gradient_norm: Tensor  # float32 ()  before clipping; not finite: the weights did not move
    group_norms: Tensor  # float32 (groups,)  of the gradients of each layer group
    is_held: Tensor  # bool ()  the loss is above what `hold_above` allows: the weights did not move


class TrainingStep:
    """The step, for batches of one shape traced once.

    penalizes: the penalties on kernels are part of the loss. accumulation: each replica computes
    its part of the batch in so many pieces, one after the other, and adds up their gradients; batch
    norm sees the pieces, all else the whole batch. seed: what is drawn at random follows from it
    and the position of each image in the stream.
    """

    def __init__(
        self,
        detector: Detector,
        optimizer: StepOptimizer,
        schedule: Schedule,
        *,
        variables: Sequence[keras.Variable],
        rules: GradientRules,
        averages: MovingAverages | None = None,
        loss_scale: LossScale | None = None,
        class_weights: Sequence[float] | None = None,
        penalizes: bool = True,
        accumulation: int = 1,
        seed: int = 0,
    ) -> None:
        self.detector = detector
        self.optimizer = optimizer
        self.schedule = schedule
        self.variables = tuple(variables)
        self.rules = rules
        self.averages = averages
        self.loss_scale = loss_scale
        self.class_weights = class_weights
        self.penalizes = penalizes
        self.seed = seed
        self._quantizers = fake_quantizers(detector)
        self.groups = tuple(dict.fromkeys(layer_group(variable.path) for variable in variables))
        self._strategy = tf.distribute.get_strategy()
        self._expected: Any = None
        self._held_above = math.inf
        self._highest_loss = tf.Variable(
            math.inf,
            trainable=False,
            aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
        )
        self.split(accumulation)

    @property
    def side_state(self) -> list[tf.Variable]:
        """What a step may change before it moves the weights: statistics, seeds, the loss scale."""
        trained = {id(variable) for variable in self.variables}
        others = [each.value for each in self.detector.variables if id(each) not in trained]
        scale = self.loss_scale.variables if self.loss_scale is not None else {}
        return [*others, *scale.values()]

    def split(self, accumulation: int) -> None:
        """Compute in so many pieces from now on; what was traced before is forgotten."""
        self.accumulation = accumulation
        self.run = tf.function(self._run, autograph=False)
        self.expect(self._expected)

    def expect(self, specification: Any) -> None:
        """Trace once for all batches that a specification describes, where their shapes differ.

        specification: the batch's tensors, or a replica's, as a data set describes them, with None
        for a height and width that are not known.
        """
        self._expected = specification
        parts = tf.nest.flatten(specification, expand_composites=True)
        shapes = [each.shape for each in parts if isinstance(each, tf.TensorSpec)]
        if not all(shape.is_fully_defined() for shape in shapes):
            # A data set describes None by an object of its own, which a call with None is not.
            present = tf.nest.map_structure(
                lambda each: None if isinstance(each, tf.NoneTensorSpec) else each, specification
            )
            self.run.get_concrete_function(present, tf.TensorSpec((), tf.int64))

    def hold_above(self, loss: float) -> None:
        """Let no step move the weights whose total loss is above this, or is not a number.

        All else is computed, and what a step changes before the weights is changed: who holds a
        step puts that back (`side_state`), and may take the step again.
        """
        if loss != self._held_above:  # else nothing is to be done at each step
            self._held_above = loss
            self._highest_loss.assign(loss)

    def predict(self, batch: Batch) -> tuple[Prepared, Predictions]:
        """Give what a piece of a batch has to learn, and what the network says in training."""
        batch = batch._replace(truth=self._weighed(batch.truth))
        prepared = self._prepared(batch)
        return prepared, self._predictions(batch, prepared)

    def prepare(self, batch: Batch) -> Prepared:
        """Give what a piece of a batch has to learn, before any network runs."""
        return self._prepared(batch._replace(truth=self._weighed(batch.truth)))

    def _run(self, batch: Batch, step: Tensor) -> StepOutcome:
        """Take the step with this number, from 0, on the parts of a batch."""
        learning_rate = self.schedule(step)
        moved = self._strategy.run(self._replica, (batch,))
        losses, gradients, norm, group_norms = moved
        norm, group_norms = (self._first(each) for each in (norm, group_norms))
        is_finite = tf.math.is_finite(norm)
        # All that needs memory comes before the first weight moves: if it runs out, none has.
        computed = self._local((losses, gradients, group_norms))
        is_held = tf.logical_not(self._first(losses[TOTAL]) <= self._highest_loss.read_value())
        moves = tf.logical_and(is_finite, tf.logical_not(is_held))
        tf.cond(moves, lambda: self._update(gradients, learning_rate, computed), lambda: False)
        if self.loss_scale is not None:
            self.loss_scale.update(is_finite)
        if self.detector.clock is not None:
            self.detector.clock.step.assign(step + 1)
        return StepOutcome(
            losses={name: self._first(value) for name, value in losses.items()},
            learning_rate=learning_rate,
            gradient_norm=norm,
            group_norms=group_norms,
            is_held=is_held,
        )

    def _update(self, gradients: Any, learning_rate: Tensor, computed: list[Tensor]) -> bool:
        with _after(computed):
            self.optimizer.apply(gradients, learning_rate)
        if self.averages is not None:
            self.averages.update(self.optimizer.updates)
        return True

    def _local(self, values: Any) -> list[Tensor]:
        """List what the replicas of this process hold."""
        flat = [each for each in tf.nest.flatten(values) if each is not None]
        return [part for each in flat for part in self._strategy.experimental_local_results(each)]

    def _first(self, value: Any) -> Tensor:
        """Give what all replicas hold alike."""
        return self._strategy.experimental_local_results(value)[0]

    def _replica(self, batch: Batch) -> tuple[dict[str, Tensor], list[Tensor], Tensor, Tensor]:
        """Give losses and gradients, summed over the replicas, of this replica's part."""
        batch = batch._replace(truth=self._weighed(batch.truth))
        computed = self._at_once if self.accumulation == 1 else self._in_pieces
        losses, gradients = computed(batch)
        context = tf.distribute.get_replica_context()
        present = [gradient for gradient in gradients if gradient is not None]
        # One reduction for all: each would otherwise wait for the other replicas by itself.
        losses, present = context.all_reduce(tf.distribute.ReduceOp.SUM, (losses, present))
        reduced = iter(present)
        gradients = [None if gradient is None else next(reduced) for gradient in gradients]
        if self.loss_scale is not None:
            gradients = self.loss_scale.unscale(gradients)
        clipped = self.rules.apply(gradients, self.variables)
        losses[TOTAL] = tf.add_n(list(losses.values()))
        return losses, clipped.gradients, clipped.global_norm, self._group_norms(gradients)

    def _at_once(self, batch: Batch) -> tuple[dict[str, Tensor], list[Tensor | None]]:
        prepared = self._prepared(batch)
        normalizers = _summed(self.detector.normalizers(prepared))
        with tf.GradientTape() as tape, observed_ranges() as seen:
            losses = self._terms(batch, prepared, normalizers)
            total = self._scaled(tf.add_n(list(losses.values())))
        gradients = tape.gradient(total, self._values())
        self._follow_ranges(self._joined(self._unseen(), seen))
        penalty, more = self._penalty_gradients(after=gradients)
        return losses | penalty, list(map(_added, gradients, more))

    def _in_pieces(self, batch: Batch) -> tuple[dict[str, Tensor], list[Tensor | None]]:
        """Add up the pieces in a loop, so that one piece's activations are alive at a time."""
        pieces = _split(batch, self.accumulation)
        # The targets themselves are made again for each piece: of all images they would be kept.
        normalizers = _summed(self.detector.normalizers(self._prepared(batch)))
        penalty, start = self._penalty_gradients(after=())
        start = [
            tf.zeros_like(variable) if gradient is None else gradient
            for variable, gradient in zip(self._values(), start, strict=True)
        ]
        names = tuple(normalizers)

        def piece(index: Tensor, sums: Any, gradients: Any, statistics: Any, reaches: Any) -> Any:
            own = tf.nest.map_structure(lambda v: None if v is None else v[index], pieces)
            with (
                tf.GradientTape() as tape,
                collected_statistics() as seen,
                observed_ranges() as ranges,
            ):
                terms = self._terms(own, self._prepared(own), normalizers)
                total = self._scaled(tf.add_n(list(terms.values())))
            more = tape.gradient(total, self._values(), unconnected_gradients="zero")
            gradients = [old + new for old, new in zip(gradients, more, strict=True)]
            sums = [old + terms[name] for old, name in zip(sums, names, strict=True)]
            followed = _followed(norms, statistics, seen)
            return index + 1, sums, gradients, followed, self._joined(reaches, ranges)

        norms = [each for each in batch_norms(self.detector) if not each.settings.is_frozen]
        zeros = [tf.zeros(()) for _ in names]
        _, sums, gradients, statistics, reaches = tf.while_loop(
            lambda index, *_: index < self.accumulation,
            piece,
            (0, zeros, start, [_statistics(norm) for norm in norms], self._unseen()),
            parallel_iterations=1,
        )
        self._follow_ranges(reaches)
        for norm, (mean, variance) in zip(norms, statistics, strict=True):
            norm.moving_mean.assign(mean)
            norm.moving_variance.assign(variance)
        return dict(zip(names, sums, strict=True)) | penalty, list(gradients)

    def _unseen(self) -> list[Tensor]:
        """Give what is known of each quantizer's values before there are any."""
        return [tf.zeros((2,)) for _ in self._quantizers]

    def _joined(self, reaches: Sequence[Tensor], seen: Sequence[SeenRange]) -> list[Tensor]:
        return joined_ranges(self._quantizers, reaches, seen)

    def _follow_ranges(self, reaches: Sequence[Tensor]) -> None:
        """Let quantizers follow what they saw in this step, on all replicas."""
        if not reaches:
            return
        context = tf.distribute.get_replica_context()
        everywhere = context.all_gather(tf.stack(reaches)[None], axis=0)  # (replicas, Q, 2)
        widest = tf.ensure_shape(tf.reduce_max(everywhere, axis=0), (len(reaches), 2))
        for quantizer, reach in zip(self._quantizers, tf.unstack(widest), strict=True):
            quantizer.follow(reach)

    def _terms(
        self, batch: Batch, prepared: Prepared, normalizers: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        """Give the terms of the loss; the network runs when the targets are there.

        Side by side with it, small tensors of the targets would take the place of freed large ones.
        """
        predictions = self._predictions(batch, prepared)
        terms = self.detector.terms(predictions, prepared, normalizers)
        _check_names(terms, normalizers)
        return terms

    def _predictions(self, batch: Batch, prepared: Prepared) -> Predictions:
        with _after(tf.nest.flatten(prepared)):
            images = tf.identity(batch.images)
        inputs = self.detector.normalize(images, batch.sizes)
        with looking_at(image_seeds(self.seed, batch.positions)):
            return self.detector(
                inputs, sizes=batch.sizes, truth=batch.truth, prepared=prepared, training=True
            )

    def _prepared(self, batch: Batch) -> Prepared:
        seeds = image_seeds(self.seed, batch.positions)
        return self.detector.prepare(batch.truth, batch.sizes, _input_shape(batch), seeds)

    def _penalty_gradients(
        self, *, after: Sequence[Tensor | None]
    ) -> tuple[dict[str, Tensor], list[Tensor | None]]:
        """Give the penalty on the weights, and its gradients, when the others are there.

        They are as large as the weights. Since they depend on nothing else, they would be made
        first and kept through the whole step.
        """
        with _after([gradient for gradient in after if gradient is not None]):
            with tf.GradientTape() as tape:
                penalty = self._penalty()
                scaled = self._scaled(penalty)
            gradients = tape.gradient(scaled, self._values())
        return {PENALTY: penalty}, gradients

    def _penalty(self) -> Tensor:
        """Give the penalty; replicas have the same weights, and each a share of it."""
        if not self.penalizes:
            return tf.zeros(())
        return self.detector.regularization_loss() / self._strategy.num_replicas_in_sync

    def _scaled(self, total: Tensor) -> Tensor:
        return total if self.loss_scale is None else self.loss_scale.scale(total)

    def _weighed(self, truth: GroundTruth) -> GroundTruth:
        if self.class_weights is None:
            return truth
        factors = tf.gather(tf.constant(self.class_weights, tf.float32), truth.classes)
        return truth._replace(weights=truth.weights * factors)

    def _values(self) -> list[tf.Variable]:
        return [variable.value for variable in self.variables]

    def _group_norms(self, gradients: Sequence[Tensor | None]) -> Tensor:
        squares: dict[str, list[Tensor]] = {group: [] for group in self.groups}
        for variable, gradient in zip(self.variables, gradients, strict=True):
            if gradient is not None:
                squares[layer_group(variable.path)].append(2.0 * tf.nn.l2_loss(gradient))
        sums = [tf.add_n(each) if each else tf.zeros(()) for each in squares.values()]
        return tf.sqrt(tf.stack(sums))


def _statistics(norm: FusedBatchNorm) -> ChannelStatistics:
    return ChannelStatistics(
        norm.moving_mean.value.read_value(), norm.moving_variance.value.read_value()
    )


def _followed(
    norms: Sequence[FusedBatchNorm],
    statistics: Sequence[ChannelStatistics],
    seen: Sequence[tuple[FusedBatchNorm, ChannelStatistics]],
) -> list[ChannelStatistics]:
    """Move the statistics of batch norms towards what they saw, one after the other."""
    moved = {id(norm): each for norm, each in zip(norms, statistics, strict=True)}
    for norm, batch in seen:
        moved[id(norm)] = norm.followed(moved[id(norm)], batch)
    return list(moved.values())


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


def _after(values: Sequence[Tensor]) -> Any:
    """Let what is done in a with block wait for values: each operation for one, not for all."""
    with tf.control_dependencies(values):
        ready = tf.no_op()
    return tf.control_dependencies([ready])


def _added(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    if first is None or second is None:
        return second if first is None else first
    return first + second


def _summed(values: dict[str, Tensor]) -> dict[str, Tensor]:
    """Sum over the replicas."""
    context = tf.distribute.get_replica_context()
    summed = context.all_reduce(tf.distribute.ReduceOp.SUM, values)
    return {name: tf.stop_gradient(value) for name, value in summed.items()}


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
