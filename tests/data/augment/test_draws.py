"""Random choices have the right range and frequency."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from holdfast.data.augment.draws import sometimes, uniforms, whole_between


def test_whole_numbers_fill_their_range_evenly() -> None:
    draws = tf.random.stateless_uniform([7000], [1, 2])
    numbers = whole_between(draws, 3, 10).numpy()
    counts = np.bincount(numbers)
    assert counts[:3].sum() == 0
    assert len(counts) == 10
    assert np.abs(counts[3:] - 1000).max() < 4 * np.sqrt(1000)


def test_an_empty_range_gives_its_lower_end() -> None:
    assert whole_between(0.5, 4, 4) == 4
    assert whole_between(0.5, 4, 2) == 4


def test_the_upper_end_is_never_reached() -> None:
    almost_one = np.float32(1.0) - np.float32(2.0**-24)
    for high in (1, 2, 1000, 2**30):
        assert whole_between(almost_one, 0, high) == high - 1 or high > 2**24
        assert whole_between(almost_one, 0, high) < high


def test_certain_outcomes_need_no_branch() -> None:
    def trace(probability: float) -> list[str]:
        function = tf.function(
            lambda value: sometimes(uniforms([1, 2], 1)[0], probability, lambda x: x + 1, value)
        )
        graph = function.get_concrete_function(tf.TensorSpec([], tf.int32)).graph
        return [operation.type for operation in graph.get_operations()]

    assert any("If" in kind for kind in trace(0.5))
    assert not any("If" in kind for kind in trace(0.0) + trace(1.0))


def test_a_branch_passes_on_only_what_it_changes() -> None:
    def change(pair: tuple[tf.Tensor, None, tf.Tensor]) -> tuple[tf.Tensor, None, tf.Tensor]:
        return pair[0], None, pair[2] + 1

    @tf.function
    def run(kept: tf.Tensor, changed: tf.Tensor, draw: tf.Tensor) -> tf.Tensor:
        result = sometimes(draw, 0.5, change, (kept, None, changed))
        assert result[0] is kept
        assert result[1] is None
        return result[2]

    assert run(tf.constant(1), tf.constant(2), tf.constant(0.4)) == 3
    assert run(tf.constant(1), tf.constant(2), tf.constant(0.6)) == 2


def test_outside_of_a_graph_the_choice_is_the_same() -> None:
    assert sometimes(tf.constant(0.4), 0.5, lambda x: x + 1, tf.constant(2)) == 3
    assert sometimes(tf.constant(0.6), 0.5, lambda x: x + 1, tf.constant(2)) == 2
