"""Sampling: a few of many candidates, with a bound on the part of positives."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from keras import ops

from holdfast.geometry.chance import uniform
from holdfast.geometry.tensor import Tensor

# (candidates, positives, size) -> which were drawn; all bool (B, A)
Sampler = Callable[[Tensor, Tensor, int | None], Tensor]
SeededSampler = Callable[[Tensor], Sampler]  # from the seeds (B, 2) of a batch's images


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


def filled_sample(
    candidates: Tensor,
    positives: Tensor,
    size: int | None,
    *,
    positive_fraction: float = 0.5,
    seeds: Tensor,
) -> Tensor:
    """Draw as balanced_sample does; where there are fewer candidates, others count as such.

    The first of them do, so that `size` are drawn whenever there are enough negatives: what a graph
    of fixed shapes needs.
    """
    if size is not None:
        others = ops.logical_not(candidates)
        place = ops.cumsum(ops.cast(others, "int32"), axis=-1)  # from 1 on
        is_added = ops.logical_and(others, place <= size - _count(candidates))
        candidates = ops.logical_or(candidates, is_added)
    return balanced_sample(
        candidates, positives, size, positive_fraction=positive_fraction, seeds=seeds
    )


class Drawn(NamedTuple):
    """Where the drawn entries of each image are; N places."""

    indices: Tensor  # int32 (B, N)  rising; 0 behind the last
    count: Tensor  # int32 (B,)


def drawn_places(is_drawn: Tensor, size: int) -> Drawn:
    """List the places of the first `size` true entries of is_drawn, bool (B, A).

    >>> drawn_places(ops.array([[False, True, False, True]]), 3).indices.numpy().tolist()
    [[1, 3, 0]]
    """
    is_drawn = ops.pad(is_drawn, [[0, 0], [0, size]])  # so that there are `size` entries to look at
    length = ops.shape(is_drawn)[1]
    places = ops.arange(length, dtype="int32")
    _, order = ops.top_k(ops.where(is_drawn, length - places, 0), size)  # (B, size)
    count = ops.minimum(_count(is_drawn), size)
    is_used = ops.arange(size, dtype="int32") < count
    return Drawn(ops.where(is_used, ops.cast(order, "int32"), 0), count[:, 0])


def _first(mask: Tensor, order: Tensor, number: Tensor) -> Tensor:
    """Keep the `number` (B, 1) true entries of mask that come first in the order."""
    keys = ops.where(mask, order, 2.0)  # (B, A); behind all draws, which are below 1
    rank = ops.argsort(ops.argsort(keys, axis=-1), axis=-1)
    return ops.logical_and(mask, ops.cast(rank, "int32") < number)


def _count(mask: Tensor) -> Tensor:
    return ops.sum(ops.cast(mask, "int32"), axis=-1, keepdims=True)
