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
