"""Trade time for memory: forget what a block computed, and compute it again for the gradient.

A block run again must not act again: batch norm, which asks here, keeps its moving statistics, and
random numbers are those of the first run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from holdfast.geometry.tensor import Tensor
from holdfast.models.layers.randomness import current_chunk, current_seeds, looking_at


class _Thread(threading.local):
    """Each replica is traced in a thread of its own."""

    is_second_run = False


_thread = _Thread()


def is_second_run() -> bool:
    """Tell whether the current block is being computed again for its gradient."""
    return _thread.is_second_run


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
            (late,) = behind([upstream], of_variables)
            return tape.gradient(outputs, values, late), of_variables

        return outputs, gradient

    return run(inputs)


def recomputed(function: Callable[..., Any], inputs: Any, variables: Sequence[tf.Variable]) -> Any:
    """Call a function of tensors and keep only its inputs for the gradient.

    variables: what it trains. The result and all gradients are the same as without.
    """
    flat = tf.nest.flatten(inputs)
    seeds = current_seeds(flat[0].shape[0] or tf.shape(flat[0])[0])
    chunk = current_chunk()
    outputs: list[Any] = []  # the structure of the result, which custom_gradient flattens

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def run(*arguments: Tensor) -> Any:
        with looking_at(seeds, chunk):
            result = function(tf.nest.pack_sequence_as(inputs, arguments))
        outputs.append(result)

        def gradient(*upstream: Tensor, variables: Any = None) -> Any:
            again = behind(arguments, upstream)
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(again)
                tape.watch(targets)
                with looking_at(seeds, chunk), second_run():
                    repeated = function(tf.nest.pack_sequence_as(inputs, again))
            of_inputs, of_variables = tape.gradient(
                tf.nest.flatten(repeated), [again, list(variables or ())], list(upstream)
            )
            # The next block to be computed again waits until nothing of this one is needed.
            return behind(of_inputs, of_variables), of_variables

        return tf.nest.flatten(result), gradient

    targets = list(variables)
    results = run(*flat)
    return tf.nest.pack_sequence_as(outputs[-1], tf.nest.flatten(results))


def behind(values: Sequence[Tensor | None], others: Sequence[Tensor | None]) -> list[Any]:
    """Make values available only after others are there: else too much would be alive at once."""
    with tf.control_dependencies([each for each in others if each is not None]):
        return [None if value is None else tf.identity(value) for value in values]


@contextmanager
def second_run() -> Iterator[None]:
    """Let layers know that what they compute now was computed before."""
    before, _thread.is_second_run = _thread.is_second_run, True
    try:
        yield
    finally:
        _thread.is_second_run = before
