"""What the processes of a training must do alike: where to begin, when to stop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from holdfast.training.cluster import num_workers
from holdfast.training.surviving.failure import TrainingFailedError

_LOST = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
)


class Agreement:
    """Lets processes know each other's mind; one alone always agrees with itself.

    Every process must call the same methods in the same order: each waits for the others.
    """

    def __init__(self, strategy: tf.distribute.Strategy) -> None:
        self._strategy = strategy
        self._is_alone = num_workers() <= 1
        self._add = tf.function(self._summed, autograph=False)

    def any(self, wish: bool) -> bool:
        """Tell whether at least one process wishes it."""
        return wish if self._is_alone else bool(self._add(tf.constant([float(wish)]))[0] > 0)

    def of_chief(self, wish: bool) -> bool:
        """Give what the first process says."""
        return wish if self._is_alone else bool(self._from_first([tf.constant(float(wish))])[0])

    def start(self, step: int, variables: Sequence[tf.Variable]) -> int:
        """Begin where the first process does, with its values; give the step.

        A process that does not see the run folder of the first one has nothing to resume from.
        """
        if self._is_alone:
            return step
        first = int(self._from_first([tf.constant(step, tf.int64)])[0])
        if self.any(step != first):
            for variable, value in zip(variables, self._from_first(variables), strict=True):
                variable.assign(value)
        return first

    def _summed(self, values: Any) -> Any:
        return self._strategy.reduce("SUM", self._strategy.run(lambda: values), axis=None)

    def _from_first(self, values: Sequence[Any]) -> list[Any]:
        """Give the values that the first replica of the first process has."""

        def own() -> list[Any]:
            replica = tf.distribute.get_replica_context().replica_id_in_sync_group
            return [tf.where(replica == 0, value, tf.zeros_like(value)) for value in values]

        def shared() -> list[Any]:
            parts = self._strategy.run(own)
            return [self._strategy.reduce("SUM", part, axis=None) for part in parts]

        found: list[Any] = tf.function(shared, autograph=False)()
        return found


@contextmanager
def lost_workers_told() -> Iterator[None]:
    """Turn what TensorFlow says when another process is gone into words that help."""
    try:
        yield
    except tf.errors.OpError as error:
        if num_workers() <= 1 or not (isinstance(error, _LOST) or "ollective" in error.message):
            raise
        raise TrainingFailedError(
            f"Another of the {num_workers()} processes that train together ended or cannot be "
            "reached, and none can go on alone.",
            fix="Look at what the others said last, then start all of them again: they resume "
            "after the last checkpoint.",
        ) from error
