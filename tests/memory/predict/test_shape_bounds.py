"""Shapes that depend on data: the graph does not tell them, but how large they are at most."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tensorflow as tf

from holdfast.memory.predict.lifetimes import follow
from holdfast.memory.predict.optimized_graph import optimized_graph
from holdfast.memory.predict.step_graph import StepGraph

BOXES, LIMIT = 5000, 300


def graph_of(function: Callable[..., object], *shapes: tuple[int, ...]) -> StepGraph:
    specifications = [tf.TensorSpec(shape, tf.float32) for shape in shapes]
    return optimized_graph(tf.function(function).get_concrete_function(*specifications).graph)


def sides_of(graph: StepGraph, operation: str) -> tuple[int, ...]:
    (node,) = (each for each in graph.nodes if each.operation == operation)
    return node.outputs[0].sides


def test_suppression_keeps_no_more_boxes_than_it_is_asked_for() -> None:
    def kept(boxes: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
        chosen = tf.image.non_max_suppression(boxes, scores, LIMIT)
        return tf.exp(tf.gather(boxes, chosen))

    graph = graph_of(kept, (BOXES, 4), (BOXES,))
    assert not graph.unknown
    assert sides_of(graph, "NonMaxSuppressionV3") == (LIMIT,)
    assert sides_of(graph, "GatherV2") == sides_of(graph, "Exp") == (LIMIT, 4)


def test_a_mask_is_true_at_most_everywhere() -> None:
    graph = graph_of(lambda x: tf.boolean_mask(x, x > 0.0) * 2.0, (60, 70))
    assert not graph.unknown
    assert sides_of(graph, "Where") == (60 * 70, 1)
    assert sides_of(graph, "Mul") == (60 * 70,)


def test_the_best_of_a_row_are_no_more_than_the_row_has() -> None:
    def best(x: tf.Tensor) -> tf.Tensor:
        return tf.math.top_k(x, tf.cast(tf.reduce_sum(x), tf.int32)).values

    graph = graph_of(best, (8, 500))
    assert sides_of(graph, "TopKV2") == (8, 500)


def test_what_is_joined_is_as_long_as_its_parts_together() -> None:
    def joined(x: tf.Tensor) -> tf.Tensor:
        found = tf.boolean_mask(x, x > 0.0)
        return tf.concat([found, x], axis=0)

    graph = graph_of(joined, (1000,))
    assert sides_of(graph, "ConcatV2") == (2000,)


def test_open_sides_count_as_the_largest_that_the_caller_names() -> None:
    kernel = tf.ones((3, 3, 3, 16))

    def network(images: tf.Tensor) -> tf.Tensor:
        features = tf.nn.relu(tf.nn.conv2d(images, kernel, 2, "SAME"))
        rows = tf.range(tf.shape(features)[1])
        return tf.reduce_sum(features, axis=(2, 3)) * tf.cast(rows, tf.float32)

    def traced(*sides: int | None) -> tf.Graph:
        specification = tf.TensorSpec((2, *sides, 3), tf.float32)
        return tf.function(network).get_concrete_function(specification).graph

    open_graph = traced(None, None)
    bounded = optimized_graph(open_graph, {open_graph.inputs[0].op.name: (2, 320, 200, 3)})
    assert not bounded.unknown
    assert follow(bounded).peak() == follow(optimized_graph(traced(320, 200))).peak()
    assert optimized_graph(open_graph).unknown


def test_how_much_of_a_graph_is_guessed_is_said() -> None:
    def repeated(x: tf.Tensor) -> tf.Tensor:
        count = tf.cast(tf.reduce_sum(x), tf.int32)
        return tf.reduce_sum(tf.sin(tf.tile(x, [count])))

    graph = graph_of(repeated, (1000,))
    assert graph.unknown_share > 0.5
    assert graph_of(lambda x: tf.sin(x), (1000,)).unknown_share == pytest.approx(0.0)
