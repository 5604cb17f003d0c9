"""Sampling: a few of many candidates, with a bound on the part of positives."""

from __future__ import annotations

from collections.abc import Callable

from keras import ops

from holdfast.geometry.chance import uniform
from holdfast.geometry.tensor import Tensor

# (candidates, positives, size) -> which were drawn; all bool (B, A)
Sampler = Callable[[Tensor, Tensor, int | None], Tensor]


def balanced_sample(
    candidates: Tensor,
    positives: Tensor,
    size: int | None,
    *,
    positive_fraction: float = 0.5,
    seeds: Tensor,
) -> Tensor:
    """Draw up to `size` of each image's candidates at random, bool (B, A).

    At most positive_fraction of them are positives; negatives fill up the rest, as far as there are
    any. Without a size all positives are drawn, and so many negatives that positives make up
    positive_fraction. seeds (B, 2) are the images': the same seeds draw the same.

    >>> mask = ops.array([[True, True, True, True]])
    >>> positives = ops.array([[True, True, True, False]])
    >>> drawn = balanced_sample(mask, positives, 2, seeds=ops.array([[0, 0]]))
    >>> drawn.numpy().sum(), bool(drawn[0, 3])
    (np.int64(2), True)
    """
    is_positive = ops.logical_and(candidates, positives)
    is_negative = ops.logical_and(candidates, ops.logical_not(positives))
    order = uniform(seeds, ops.shape(candidates)[1:])
    num_positives = _count(is_positive)  # (B, 1)
    if size is None:
        ratio = (1.0 - positive_fraction) / positive_fraction
        num_negatives = ops.cast(ratio * ops.cast(num_positives, "float32"), "int32")
    else:
        num_positives = ops.minimum(num_positives, int(positive_fraction * size))
        num_negatives = size - num_positives
    return ops.logical_or(
        _first(is_positive, order, num_positives), _first(is_negative, order, num_negatives)
    )


def _first(mask: Tensor, order: Tensor, number: Tensor) -> Tensor:
    """Keep the `number` (B, 1) true entries of mask that come first in the order."""
    keys = ops.where(mask, order, 2.0)  # (B, A); behind all draws, which are below 1
    rank = ops.argsort(ops.argsort(keys, axis=-1), axis=-1)
    return ops.logical_and(mask, ops.cast(rank, "int32") < number)


def _count(mask: Tensor) -> Tensor:
    return ops.sum(ops.cast(mask, "int32"), axis=-1, keepdims=True)
