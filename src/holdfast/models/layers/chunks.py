"""Look at many regions in chunks, one after the other: one chunk's activations live at a time.

For the gradient, each chunk is computed again from what all chunks share, such as feature maps. The
gradients of weights are added up chunk by chunk: one sum of them is held, not one for each chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import tensorflow as tf

from holdfast.geometry.tensor import Tensor
from holdfast.models.layers.randomness import RegionChunk, current_seeds, looking_at
from holdfast.models.layers.recomputation import behind, second_run

# B images, P regions an image, R = B * P regions: those of the first image, then those of the next
Look = Callable[[Sequence[Tensor], RegionChunk], Any]  # what is shared, the chunk -> nested tensors


def even_chunks(regions: int, count: int) -> list[RegionChunk]:
    """Divide the regions of an image into chunks whose sizes differ by one at most.

    >>> [chunk.end - chunk.start for chunk in even_chunks(7, 3)]
    [2, 2, 3]
    """
    ends = [regions * number // count for number in range(count + 1)]
    return [RegionChunk(start, end, regions) for start, end in pairwise(ends) if end > start]


def in_chunks(look: Look, shared: Sequence[Tensor], chunks: Sequence[RegionChunk]) -> Any:
    """Call a function for one chunk after the other, and join what it says of their regions.

    Nothing is kept of a chunk but its result: a gradient cannot be taken.
    """
    results: list[Any] = []
    for chunk in chunks:
        results.append(look(behind(shared, _last(results)), chunk))
    return _joined(results, chunks)


def recomputed_in_chunks(
    look: Look,
    shared: Sequence[Tensor],
    chunks: Sequence[RegionChunk],
    variables: Sequence[tf.Variable],
) -> Any:
    """Do what `in_chunks` does, and compute each chunk again for the gradient.

    variables: what the function trains. Gradients are taken with respect to them, and to what is
    shared. They are those of all regions at once, but for the order of the sums.
    """
    seeds = current_seeds(tf.shape(shared[0])[0])
    structure: list[Any] = []  # of a result, which custom_gradient flattens
    watched = list(variables)

    def seen(maps: Sequence[Tensor], chunk: RegionChunk) -> Any:
        with looking_at(seeds, chunk):
            return look(maps, chunk)

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def run(*maps: Tensor) -> Any:
        results: list[Any] = []
        for chunk in chunks:
            results.append(seen(behind(maps, _last(results)), chunk))
        structure.append(results[-1])

        def gradient(*upstream: Tensor, variables: Any = None) -> Any:
            trained = list(variables or ())
            size = len(upstream) // len(chunks)
            sums: list[Any] = [None] * (len(maps) + len(trained))
            for number, chunk in reversed(list(enumerate(chunks))):
                own = upstream[number * size : (number + 1) * size]
                again = behind(maps, [*own, *sums])
                with tf.GradientTape(watch_accessed_variables=False) as tape:
                    tape.watch(again)
                    tape.watch(watched)
                    with second_run():
                        repeated = tf.nest.flatten(seen(again, chunk))
                more = tape.gradient(repeated, [*again, *trained], list(own))
                sums = [_added(old, new) for old, new in zip(sums, more, strict=True)]
            return sums[: len(maps)], sums[len(maps) :]

        return tf.nest.flatten(results), gradient

    flat = tf.nest.flatten(run(*shared))
    size = len(flat) // len(chunks)
    results = [
        tf.nest.pack_sequence_as(structure[-1], flat[start : start + size])
        for start in range(0, len(flat), size)
    ]
    return _joined(results, chunks)


def _last(results: Sequence[Any]) -> list[Tensor]:
    return tf.nest.flatten(results[-1]) if results else []


def _added(old: Tensor | None, new: Tensor | None) -> Tensor | None:
    if old is None or new is None:
        return new if old is None else old
    return old + new


def _joined(results: Sequence[Any], chunks: Sequence[RegionChunk]) -> Any:
    """Put the rows (B * p, ...) of each chunk where they are among all regions, (R, ...)."""

    def join(*parts: Tensor) -> Tensor:
        inner = parts[0].shape[1:]
        by_image = [
            tf.reshape(part, (-1, chunk.end - chunk.start, *inner))
            for part, chunk in zip(parts, chunks, strict=True)
        ]
        return tf.reshape(tf.concat(by_image, axis=1), (-1, *inner))

    return tf.nest.map_structure(join, *results)
