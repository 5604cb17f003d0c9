"""Moving averages of the weights, which often detect better than the weights themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from holdfast.errors import HoldfastError
from holdfast.geometry.tensor import Tensor


class MovingAverages:
    """Exponential moving averages of variables, and the way to evaluate or export with them.

    Statistics of batch norm are no weights: they are moving averages already. Make it in the scope
    of the strategy that the variables were made in, and reset it when weights were loaded.
    """

    def __init__(self, variables: Sequence[keras.Variable], decay: float = 0.9999) -> None:
        self.decay = decay
        self._strategy = tf.distribute.get_strategy()
        self._weights = {variable.path: variable.value for variable in variables}
        self._averages = {
            path: tf.Variable(_copy(weight), trainable=False)
            for path, weight in self._weights.items()
        }
        self._is_swapped = False

    @property
    def variables(self) -> dict[str, tf.Variable]:
        """What a checkpoint must hold, by the path of the model's variable."""
        if self._is_swapped:
            raise HoldfastError(
                "The weights and their averages are swapped now: they cannot be saved.",
                fix="Save before or after `with averages.swapped()`.",
            )
        return dict(self._averages)

    def reset(self) -> None:
        """Let the averages begin at the present weights.

        The OD API begins at 0. That is forgotten soon: after 10 updates by the slow start below,
        6e-5 of the beginning is left, and 2e-12 after 100.
        """
        with self._strategy.scope():
            for average, weight in self._pairs():
                average.assign(_copy(weight))

    def look(self, step: Tensor) -> list[Tensor]:
        """Need nothing of the weights before they move."""
        return []

    def follow(self, seen: list[Tensor], updates: Tensor) -> None:
        """Follow the weights; updates counts the updates of the weights, the last one included.

        Call it where `Optimizer.apply` is called, after it.
        """
        count = tf.cast(updates, tf.float32)
        # A young average must not remember weights that training has long left behind.
        decay = tf.minimum(self.decay, (1.0 + count) / (10.0 + count))
        with self._strategy.scope():
            for average, weight in self._pairs():
                self._strategy.extended.update(average, _follow, args=(weight, decay), group=False)

    def measures(self) -> dict[str, Tensor]:
        """Have no number of their own."""
        return {}

    def facts(self) -> dict[str, Any]:
        """Have no fact of their own: a checkpoint holds them."""
        return {}

    @contextmanager
    def swapped(self) -> Iterator[None]:
        """Give the model the averages as its weights, for the time of a with block."""
        self._swap()
        self._is_swapped = True
        try:
            yield
        finally:
            self._swap()
            self._is_swapped = False

    def _pairs(self) -> Iterator[tuple[tf.Variable, tf.Variable]]:
        return zip(self._averages.values(), self._weights.values(), strict=True)

    def _swap(self) -> None:
        with self._strategy.scope():
            for average, weight in self._pairs():
                kept = tf.identity(weight.read_value())
                weight.assign(average.read_value())
                average.assign(kept)


def _copy(weight: tf.Variable) -> Tensor:
    """Give a value of its own: of one that two variables share, the first update makes a copy."""
    return tf.raw_ops.DeepCopy(x=weight.read_value())


def _follow(average: tf.Variable, weight: tf.Variable, decay: Tensor) -> None:
    average.assign_sub(tf.cast(1.0 - decay, average.dtype) * (average - weight))
