"""Loops that fill lists of tensors: what the list holds at the end is known by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tensorflow as tf

from holdfast.memory.predict.lifetimes import Lifetimes, follow
from holdfast.memory.predict.optimized_graph import optimized_graph
from holdfast.memory.predict.step_graph import StepGraph

ROUNDS, NUMBERS = 12, 4096
ELEMENT = 4 * NUMBERS


def graph_of(function: Callable[..., object], *shapes: tuple[int | None, ...]) -> StepGraph:
    specifications = [tf.TensorSpec(shape, tf.float32) for shape in shapes]
    return optimized_graph(tf.function(function).get_concrete_function(*specifications).graph)


def lifetimes(function: Callable[..., object], *shapes: tuple[int | None, ...]) -> Lifetimes:
    return follow(graph_of(function, *shapes))


def test_a_loop_that_stacks_results_holds_them_twice() -> None:
    held = lifetimes(lambda x: tf.map_fn(tf.sort, x), (ROUNDS, NUMBERS))
    # In the last round a copy of each row and each sorted row; then sorted rows, and their stack.
    expected = 2 * ROUNDS * ELEMENT
    assert expected <= held.peak() <= expected + 2 * ELEMENT


def test_elements_have_memory_of_their_own() -> None:
    held = lifetimes(lambda x: tf.map_fn(tf.sort, x), (ROUNDS, NUMBERS))
    lists = [each.buffer for each in held.events if each.is_made and each.buffer.pieces > 1]
    assert {buffer.piece_bytes for buffer in lists} == {ELEMENT}
    assert all(buffer.bytes == buffer.pieces * ELEMENT for buffer in lists)


@pytest.mark.parametrize("rounds", [3, 30])
def test_the_gradient_of_a_loop_keeps_what_each_round_needs(rounds: int) -> None:
    def gradient(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            _, y = tf.while_loop(
                lambda index, _: index < rounds,
                lambda index, y: (index + 1, tf.sin(y)),
                (0, x),
                maximum_iterations=rounds,
            )
        return tape.gradient(y, x)

    peak = lifetimes(gradient, (NUMBERS,)).peak()
    assert rounds * ELEMENT <= peak <= (rounds + 4) * ELEMENT


def test_a_list_of_a_length_that_depends_on_data_is_unknown() -> None:
    def filled(x: tf.Tensor) -> tf.Tensor:
        found = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        count = tf.cast(tf.reduce_sum(x), tf.int32)
        _, found = tf.while_loop(
            lambda index, _: index < count,
            lambda index, found: (index + 1, found.write(index, x * tf.cast(index, tf.float32))),
            (0, found),
        )
        return found.stack()

    graph = graph_of(filled, (NUMBERS,))
    assert any("TensorListSetItem" in name for name in graph.unknown)


def test_a_list_is_freed_after_it_was_stacked() -> None:
    def twice(x: tf.Tensor) -> tf.Tensor:
        first = tf.map_fn(tf.sort, x)
        with tf.control_dependencies([first]):
            return tf.map_fn(tf.sort, first)

    once = lifetimes(lambda x: tf.map_fn(tf.sort, x), (ROUNDS, NUMBERS)).peak()
    assert lifetimes(twice, (ROUNDS, NUMBERS)).peak() <= once + (ROUNDS + 2) * ELEMENT
