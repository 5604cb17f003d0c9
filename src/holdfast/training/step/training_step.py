"""One training step: the weights are moved once, by one batch, wherever its parts are computed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from holdfast.data.sample import Batch
from holdfast.geometry.tensor import Tensor
from holdfast.models.layers.observation import layer_group
from holdfast.runs.trace_marks import OPTIMIZER_SCOPE
from holdfast.training.step.averaging import MovingAverages
from holdfast.training.step.batch_gradients import BatchGradients
from holdfast.training.step.batch_loss import BatchLoss, after
from holdfast.training.step.follower import Follower
from holdfast.training.step.gradients import GradientRules
from holdfast.training.step.optimizers import StepOptimizer
from holdfast.training.step.precision import LossScale
from holdfast.training.step.pruning import Pruning
from holdfast.training.step.schedules import Schedule

TOTAL = "Loss/total_loss"


class StepOutcome(NamedTuple):
    """What one step did."""

    losses: dict[str, Tensor]  # float32 () each: the terms, PENALTY and TOTAL, of the whole batch
    learning_rate: Tensor  # float32 ()
    gradient_norm: Tensor  # float32 ()  before clipping; not finite: the weights did not move
    group_norms: Tensor  # float32 (groups,)  of the gradients of each layer group
    is_held: Tensor  # bool ()  the loss is above what `hold_above` allows: the weights did not move
    measures: dict[str, Tensor]  # float32 () each: what the followers of the weights note


class TrainingStep:
    """The step, for batches of one shape traced once.

    accumulation: each replica computes its part of the batch in so many pieces, one after the
    other, and adds up their gradients; batch norm sees the pieces, all else the whole batch.
    """

    def __init__(
        self,
        loss: BatchLoss,
        optimizer: StepOptimizer,
        schedule: Schedule,
        *,
        variables: Sequence[keras.Variable],
        rules: GradientRules,
        averages: MovingAverages | None = None,
        pruning: Pruning | None = None,
        loss_scale: LossScale | None = None,
        accumulation: int = 1,
    ) -> None:
        self.loss = loss
        self.detector = loss.detector
        self.optimizer = optimizer
        self.variables = tuple(variables)
        self.averages = averages
        self.pruning = pruning
        self.loss_scale = loss_scale
        self._schedule = schedule
        self._rules = rules
        self._gradients = BatchGradients(
            loss, variables, loss_scale.scale if loss_scale is not None else lambda total: total
        )
        # In this order: what is pruned is 0 in the averages, too.
        parts: tuple[Follower | None, ...] = (averages, pruning)
        self._followers = [each for each in parts if each is not None]
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

    def facts(self) -> dict[str, Any]:
        """Give what its followers want to be noted with a checkpoint."""
        return _joined(each.facts() for each in self._followers)

    def split(self, accumulation: int) -> None:
        """Compute in so many pieces from now on; what was traced before is forgotten."""
        self.accumulation = accumulation
        self._forget()
        expected, self._expected = self._expected, None
        self.expect(expected)

    def _forget(self) -> None:
        self.run = tf.function(self._run, autograph=False)

    def expect(self, specification: Any) -> None:
        """Trace once for all batches that a specification describes, where their shapes differ.

        specification: the batch's tensors, or a replica's, as a data set describes them, with None
        for a height and width that are not known.
        """
        if specification == self._expected:
            return
        self._expected = specification
        if self.takes_any_size:
            self._forget()  # what was traced for one size, by the planner
            # A data set describes None by an object of its own, which a call with None is not.
            present = tf.nest.map_structure(
                lambda each: None if isinstance(each, tf.NoneTensorSpec) else each, specification
            )
            self.run.get_concrete_function(present, tf.TensorSpec((), tf.int64))

    @property
    def takes_any_size(self) -> bool:
        """Tell whether the height and width of its batches are open."""
        parts = tf.nest.flatten(self._expected, expand_composites=True)
        shapes = [each.shape for each in parts if isinstance(each, tf.TensorSpec)]
        return not all(shape.is_fully_defined() for shape in shapes)

    def hold_above(self, loss: float) -> None:
        """Let no step move the weights whose total loss is above this, or is not a number.

        All else is computed, and what a step changes before the weights is changed: who holds a
        step puts that back (`side_state`), and may take the step again.
        """
        if loss != self._held_above:  # else nothing is to be done at each step
            self._held_above = loss
            self._highest_loss.assign(loss)

    def _run(self, batch: Batch, step: Tensor) -> StepOutcome:
        """Take the step with this number, from 0, on the parts of a batch."""
        learning_rate = self._schedule(step)
        moved = self._strategy.run(self._replica, (batch,))
        losses, gradients, norm, group_norms = moved
        norm, group_norms = (self._first(each) for each in (norm, group_norms))
        is_finite = tf.math.is_finite(norm)
        # All that needs memory comes before the first weight moves: if it runs out, none has.
        computed = self._local((losses, gradients, group_norms))
        is_held = tf.logical_not(self._first(losses[TOTAL]) <= self._highest_loss.read_value())
        moves = tf.logical_and(is_finite, tf.logical_not(is_held))
        update = partial(self._update, gradients, learning_rate, step, computed)
        tf.cond(moves, update, lambda: False)
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
            measures=_joined(each.measures() for each in self._followers),
        )

    def _update(
        self, gradients: Any, learning_rate: Tensor, step: Tensor, computed: list[Tensor]
    ) -> bool:
        seen = [each.look(step) for each in self._followers]
        with tf.name_scope(OPTIMIZER_SCOPE):
            with after([*computed, *chain.from_iterable(seen)]):
                self.optimizer.apply(gradients, learning_rate)
            for follower, looked in zip(self._followers, seen, strict=True):
                follower.follow(looked, self.optimizer.updates)
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
        losses, gradients = self._gradients.of(batch, self.accumulation)
        context = tf.distribute.get_replica_context()
        present = [gradient for gradient in gradients if gradient is not None]
        # One reduction for all: each would otherwise wait for the other replicas by itself.
        losses, present = context.all_reduce(tf.distribute.ReduceOp.SUM, (losses, present))
        reduced = iter(present)
        gradients = [None if gradient is None else next(reduced) for gradient in gradients]
        if self.loss_scale is not None:
            gradients = self.loss_scale.unscale(gradients)
        clipped = self._rules.apply(gradients, self.variables)
        losses[TOTAL] = tf.add_n(list(losses.values()))
        return losses, clipped.gradients, clipped.global_norm, self._group_norms(gradients)

    def _group_norms(self, gradients: Sequence[Tensor | None]) -> Tensor:
        squares: dict[str, list[Tensor]] = {group: [] for group in self.groups}
        for variable, gradient in zip(self.variables, gradients, strict=True):
            if gradient is not None:
                squares[layer_group(variable.path)].append(2.0 * tf.nn.l2_loss(gradient))
        sums = [tf.add_n(each) if each else tf.zeros(()) for each in squares.values()]
        return tf.sqrt(tf.stack(sums))


def _joined(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: value for part in parts for name, value in part.items()}
