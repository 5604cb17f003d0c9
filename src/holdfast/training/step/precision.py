"""The loss scale that keeps small gradients above zero in float16."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from holdfast.geometry.tensor import Tensor

FIRST_SCALE = 2.0**15
GROWTH_STEPS = 2000
LARGEST_SCALE = 2.0**60  # far above use; the loss in float32 must stay finite


class ScaleState(NamedTuple):
    """Where a loss scale stands."""

    scale: Tensor  # float32 ()
    good_steps: Tensor  # int64 ()  since the scale last changed


def next_state(state: ScaleState, is_finite: Tensor) -> ScaleState:
    """Halve the scale when gradients were not finite; double it after many steps that were.

    The scale stays a power of two between 1 and LARGEST_SCALE: scaling loses no digit.

    >>> [float(next_state(ScaleState(8.0, 1999), good).scale) for good in (True, False)]
    [16.0, 4.0]
    """
    good_steps = tf.where(is_finite, tf.cast(state.good_steps, tf.int64) + 1, 0)
    grows = good_steps >= GROWTH_STEPS
    after_good = tf.where(grows, tf.minimum(state.scale * 2.0, LARGEST_SCALE), state.scale)
    after_bad = tf.maximum(state.scale / 2.0, 1.0)
    return ScaleState(
        scale=tf.where(is_finite, after_good, after_bad),
        good_steps=tf.where(grows, tf.zeros_like(good_steps), good_steps),
    )


class LossScale:
    """The present loss scale; make it in the scope of the strategy that trains."""

    def __init__(self) -> None:
        self._strategy = tf.distribute.get_strategy()
        first = tf.VariableAggregation.ONLY_FIRST_REPLICA
        self._scale = tf.Variable(FIRST_SCALE, trainable=False, aggregation=first)
        self._good_steps = tf.Variable(0, trainable=False, dtype=tf.int64, aggregation=first)

    @property
    def variables(self) -> dict[str, tf.Variable]:
        """What a checkpoint must hold."""
        return {"scale": self._scale, "good_steps": self._good_steps}

    def scale(self, loss: Tensor) -> Tensor:
        """Multiply the loss before its gradients are taken."""
        return loss * tf.cast(self._scale, loss.dtype)

    def unscale(self, gradients: Sequence[Tensor | None]) -> list[Tensor | None]:
        """Divide the gradients of a scaled loss by the scale."""
        factor = 1.0 / self._scale
        return [
            None if gradient is None else gradient * tf.cast(factor, gradient.dtype)
            for gradient in gradients
        ]

    def update(self, is_finite: Tensor) -> None:
        """Move to the next state; with gradients that were not finite, the step must be skipped.

        Call it where `Optimizer.apply` is called, once a step.
        """
        state = ScaleState(self._scale.read_value(), self._good_steps.read_value())
        after = next_state(state, is_finite)
        with self._strategy.scope():
            self._scale.assign(after.scale)
            self._good_steps.assign(after.good_steps)
