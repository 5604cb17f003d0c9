"""What the processes of a training must do alike: where to begin, when to stop."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow as tf

from holdfast.training.cluster import num_workers, worker_title
from holdfast.training.peers.present_peers import doing, present_peers
from holdfast.training.surviving.failure import TrainingFailedError

_LOST = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
)
_ROUNDING = 1e-3  # of the largest value of a variable; fitted statistics of batch norms may differ


class Agreement:
    """Lets processes know each other's mind; one alone always agrees with itself.

    Every process must call the same methods in the same order: each waits for the others.
    """

    def __init__(self, strategy: tf.distribute.Strategy) -> None:
        self._strategy = strategy
        self._peers = present_peers()

    def any(self, wish: bool) -> bool:
        """Tell whether at least one process wishes it."""
        return wish if self._peers is None else any(self._peers.exchange(wish))

    def of_chief(self, wish: bool) -> bool:
        """Give what the first process says."""
        return wish if self._peers is None else bool(self._peers.exchange(wish)[0])

    def start(self, step: int, state: Mapping[str, tf.Variable]) -> int:
        """Begin where the first process does, with its values; give the step.

        A process that does not see the run folder of the first one has nothing to resume from. One
        that starts at the same step with other values is an error: it read another checkpoint.
        """
        if self._peers is None:
            return step
        doing("compares its weights with those of the others")
        own = {"step": step, "form": _form(state), "values": _values(state)}
        said = self._peers.exchange(own)
        _refuse([each["form"] == said[0]["form"] for each in said], _OTHER_NETWORK)
        first = int(said[0]["step"])
        if all(each == said[0] for each in said):
            return first
        variables = list(state.values())
        values = self._from_first(variables)
        is_alike = step != first or all(map(_is_close, variables, values))
        _refuse(self._peers.exchange(is_alike), _OTHER_WEIGHTS)
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)
        return first

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
    """Turn what TensorFlow says when another process is gone into words that say who.

    An error of this process is told to the others, which end with it.
    """
    peers = present_peers()
    try:
        yield
    except BaseException as error:
        if peers is None:
            raise
        lost = peers.name_lost() if _is_about_others(error) else None
        peers.leave(_reason(error))
        if not _is_about_others(error):
            raise
        raise lost or _nobody_named() from error


def _is_about_others(error: BaseException) -> bool:
    return isinstance(error, tf.errors.OpError) and (
        isinstance(error, _LOST) or "ollective" in error.message
    )


def _reason(error: BaseException) -> str:
    message = getattr(error, "message", "") or str(error) or type(error).__name__
    return f"failed: {message.splitlines()[0].rstrip('.')}"


def _nobody_named() -> TrainingFailedError:
    return TrainingFailedError(
        f"Another of the {num_workers()} processes that train together ended or cannot be "
        "reached, and none can go on alone.",
        fix="Look at what the others said last, then start all of them again: they resume "
        "after the last checkpoint.",
    )


_OTHER_NETWORK = (
    "builds another network than the first process: its variables have other names or shapes.",
    "Give all processes the same config and options, and the same version of Holdfast.",
)
_OTHER_WEIGHTS = (
    "starts with other weights than the first process.",
    "See that fine_tune_checkpoint and --run lead to the same files on all machines.",
)


def _refuse(is_alike: Sequence[bool], text: tuple[str, str]) -> None:
    """Raise an error that names the processes that differ."""
    odd = [worker_title(index) for index, alike in enumerate(is_alike) if not alike]
    if odd:
        raise TrainingFailedError(f"{', '.join(odd)} {text[0]}", fix=text[1])


def _form(state: Mapping[str, tf.Variable]) -> str:
    """Give a digest of what the variables are, without their values."""
    rows = [(name, tuple(each.shape), tf.as_dtype(each.dtype).name) for name, each in state.items()]
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def _values(state: Mapping[str, tf.Variable]) -> str:
    """Give a digest of the values of all variables."""
    digest = hashlib.sha256()
    for variable in state.values():
        digest.update(np.ascontiguousarray(variable.numpy()).tobytes())
    return digest.hexdigest()


def _is_close(variable: tf.Variable, value: Any) -> bool:
    own, first = np.asarray(variable.numpy(), np.float64), np.asarray(value, np.float64)
    largest = max(float(np.max(np.abs(first), initial=0.0)), 1e-6)
    return bool(np.max(np.abs(own - first), initial=0.0) <= _ROUNDING * largest)
