"""Random choices that a stateless seed decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import tensorflow as tf

from holdfast.data.sample import Tensor

T = TypeVar("T")


def uniforms(seed: Tensor, count: int) -> list[Tensor]:
    """Draw scalars from [0, 1), all from one seed."""
    if count == 1:
        return [tf.random.stateless_uniform([], seed)]
    draws: list[Tensor] = tf.unstack(tf.random.stateless_uniform([count], seed))
    return draws


def between(draw: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Spread draws from [0, 1) over [low, high)."""
    return low + draw * (high - low)


def whole_between(draw: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Turn a draw from [0, 1) into an int32 of [low, high); low if there is none."""
    count = tf.maximum(high - low, 1)
    # The product of a draw just below 1 and a large count can round up to the count.
    return low + tf.minimum(tf.cast(draw * tf.cast(count, tf.float32), tf.int32), count - 1)


def sometimes(draw: Tensor, probability: float | Tensor, change: Callable[[T], T], value: T) -> T:
    """Change a value with a probability; 0 never does, 1 always, and both without a branch."""
    if isinstance(probability, (int, float)):
        if probability <= 0.0:
            return value
        if probability >= 1.0:
            return change(value)
    old = tf.nest.flatten(value)
    changed: list[int] = []

    def apply() -> list[Tensor]:
        new = tf.nest.flatten(change(value))
        changed.extend(i for i, each in enumerate(new) if each is not old[i])
        return [new[i] for i in changed]

    # Each tensor that passes a branch costs time, so only those that `apply` changes do. In a graph
    # it is traced before the other branch; outside of one only one of the two is called.
    passed = tf.cond(draw < probability, apply, lambda: [old[i] for i in changed])
    for i, each in zip(changed, passed, strict=True):
        old[i] = each
    result: T = tf.nest.pack_sequence_as(value, old)
    return result
