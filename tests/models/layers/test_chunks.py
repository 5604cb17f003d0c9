"""Chunks say of all regions what a look at all of them says."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from holdfast.geometry.chance import image_seeds
from holdfast.models.layers.chunks import even_chunks, in_chunks, recomputed_in_chunks
from holdfast.models.layers.dropout import Dropout
from holdfast.models.layers.randomness import RegionChunk, looking_at

IMAGES, REGIONS, CHANNELS = 2, 7, 5


@given(st.integers(1, 100), st.integers(1, 12))
def test_every_region_is_in_one_chunk_and_chunks_are_alike(regions, count):
    chunks = even_chunks(regions, count)
    assert [each for chunk in chunks for each in range(chunk.start, chunk.end)] == [*range(regions)]
    sizes = [chunk.end - chunk.start for chunk in chunks]
    assert len(chunks) == min(count, regions)
    assert max(sizes) - min(sizes) <= 1


def looks(weight: tf.Variable, dropout: Dropout):
    places = tf.random.stateless_uniform((IMAGES, REGIONS, CHANNELS), (1, 2))

    def look(shared, chunk: RegionChunk):
        own = places[:, chunk.start : chunk.end] * shared[0][:, None, :]
        rows = tf.reshape(own, (-1, CHANNELS))
        return [tf.tanh(dropout(rows @ weight, training=True)), {"sum": tf.reduce_sum(rows, 1)}]

    return look


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_results_gradients_and_random_numbers_are_those_of_all_regions(count):
    weight = tf.Variable(tf.random.stateless_normal((CHANNELS, CHANNELS), (3, 4)))
    shared = tf.random.stateless_normal((IMAGES, CHANNELS), (5, 6))
    look = looks(weight, Dropout(0.5, name="dropout"))

    @tf.function
    def found(chunks):
        with looking_at(image_seeds(0, [4, 5])), tf.GradientTape() as tape:
            tape.watch(shared)
            if chunks is None:
                result = look([shared], RegionChunk(0, REGIONS, REGIONS))
            else:
                result = recomputed_in_chunks(look, [shared], chunks, [weight])
            loss = tf.reduce_sum(result[0] ** 2) + tf.reduce_sum(result[1]["sum"] ** 3)
        return result, tape.gradient(loss, [shared, weight])

    expected, actual = found(None), found(even_chunks(REGIONS, count))
    tf.nest.assert_same_structure(expected, actual)
    for one, other in zip(tf.nest.flatten(expected), tf.nest.flatten(actual), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    assert np.any(expected[0][0] == 0.0)  # something was dropped


def test_one_chunk_waits_for_the_one_before():
    weight = tf.Variable(tf.eye(CHANNELS))
    look = looks(weight, Dropout(0.0, name="dropout"))

    @tf.function
    def found(shared):
        return in_chunks(look, [shared], even_chunks(REGIONS, 3))[0]

    graph = found.get_concrete_function(tf.TensorSpec((IMAGES, CHANNELS))).graph
    products = [each for each in graph.get_operations() if each.type == "MatMul"]

    def all_before(operation):
        known, left = set(), [operation]
        while left:
            each = left.pop()
            new = {value.op for value in each.inputs}.union(each.control_inputs) - known
            known |= new
            left.extend(new)
        return known

    assert len(products) == 3
    assert products[0] in all_before(products[1])
    assert products[1] in all_before(products[2])
