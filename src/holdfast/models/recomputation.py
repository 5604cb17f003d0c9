"""Trade time for memory: forget what a block computed, and compute it again for the gradient.

A block run again must not act again: batch norm keeps its moving statistics, and random numbers are
those of the first run. Layers ask here whether they run again, and for the random seeds they drew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from holdfast.geometry.tensor import Tensor


class _Run:
    """One run of a block: the seeds drawn in it, in order."""

    def __init__(self, seeds: Sequence[Tensor] | None = None) -> None:
        self.is_second = seeds is not None
        self.seeds: list[Tensor] = list(seeds or ())


_runs: list[_Run] = []  # the innermost last


def is_second_run() -> bool:
    """Tell whether the current block is being computed again for its gradient."""
    return bool(_runs) and _runs[-1].is_second


def same_seed(draw: Callable[[], Tensor]) -> Tensor:
    """Draw a seed, or give the one that was drawn at this place in the first run."""
    if not _runs:
        return draw()
    run = _runs[-1]
    if run.is_second:
        return run.seeds.pop(0)
    run.seeds.append(draw())
    return run.seeds[-1]


def kernel_first(layer: keras.layers.Layer, inputs: Tensor) -> Tensor:
    """Call a layer; in a second run, its kernel's gradient comes before that of its inputs.

    The inputs are then free before more memory is needed. Otherwise it is chance which comes first.
    """
    if not is_second_run():
        return layer(inputs)

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def run(values: Tensor) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(values)
            outputs = layer(values)

        def gradient(upstream: Tensor, variables: Any = None) -> Any:
            of_variables = tape.gradient(outputs, list(variables or ()), upstream)
            (late,) = _behind([upstream], of_variables)
            return tape.gradient(outputs, values, late), of_variables

        return outputs, gradient

    return run(inputs)


def recomputed(function: Callable[..., Any], inputs: Any, variables: Sequence[tf.Variable]) -> Any:
    """Call a function of tensors and keep only its inputs for the gradient.

    variables: what it trains. The result and all gradients are the same as without.
    """
    flat = tf.nest.flatten(inputs)
    outputs: list[Any] = []  # the structure of the result, which custom_gradient flattens

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def run(*arguments: Tensor) -> Any:
        with _running(_Run()) as first:
            result = function(tf.nest.pack_sequence_as(inputs, arguments))
        outputs.append(result)

        def gradient(*upstream: Tensor, variables: Any = None) -> Any:
            again = _behind(arguments, upstream)
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(again)
                tape.watch(targets)
                with _running(_Run(first.seeds)):
                    repeated = function(tf.nest.pack_sequence_as(inputs, again))
            of_inputs, of_variables = tape.gradient(
                tf.nest.flatten(repeated), [again, list(variables or ())], list(upstream)
            )
            # The next block to be computed again waits until nothing of this one is needed.
            return _behind(of_inputs, of_variables), of_variables

        return tf.nest.flatten(result), gradient

    targets = list(variables)
    results = run(*flat)
    return tf.nest.pack_sequence_as(outputs[-1], tf.nest.flatten(results))


def _behind(values: Sequence[Tensor | None], others: Sequence[Tensor | None]) -> list[Any]:
    """Make values available only after others are there: else too much would be alive at once."""
    with tf.control_dependencies([each for each in others if each is not None]):
        return [None if value is None else tf.identity(value) for value in values]


@contextmanager
def _running(run: _Run) -> Iterator[_Run]:
    _runs.append(run)
    try:
        yield run
    finally:
        _runs.pop()
