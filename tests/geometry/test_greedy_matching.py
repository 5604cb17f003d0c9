"""One-to-one matching equals a slow oracle, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from holdfast.geometry.greedy_matching import GreedyMatcher
from holdfast.geometry.matching import MatchState

values = st.integers(-8, 8).map(lambda number: np.float32(number / 4))
problems = st.tuples(st.integers(0, 4), st.integers(4, 6)).flatmap(
    lambda shape: st.tuples(
        hnp.arrays(np.float32, (2, *shape), elements=values),
        hnp.arrays(np.float32, (2, shape[0]), elements=st.sampled_from([0.0, 1.0])),
    )
)


def owners(matcher: Any, similarities: Any, weights: Any) -> np.ndarray[Any, Any]:
    """Box of each anchor, or -1."""
    batch, num_boxes, num_anchors = similarities.shape
    boxes, anchors = np.zeros((batch, num_boxes, 4)), np.zeros((num_anchors, 4))
    matches = matcher.match(anchors, boxes, weights, lambda *_: tf.constant(similarities))
    is_positive = np.array(matches.state) == MatchState.POSITIVE
    return np.where(is_positive, np.array(matches.box_index), -1)


@settings(max_examples=30)
@given(problems)
def test_greedy_matching_takes_the_most_similar_pair_first(problem):
    similarities, weights = problem
    found = owners(GreedyMatcher(), similarities, weights)
    for image in range(2):
        left = np.where(weights[image][:, None] > 0, similarities[image], -np.inf)
        expected = np.full(left.shape[1], -1)
        for _ in range(int(weights[image].sum())):
            row, column = np.unravel_index(left.argmax(), left.shape)
            expected[column] = row
            left[row], left[:, column] = -np.inf, -np.inf
        np.testing.assert_array_equal(found[image], expected)


def test_it_works_in_a_graph():
    similarities = np.array([[[3.0, 2.0, 0.0], [2.9, 0.0, 0.0]]], np.float32)
    boxes, weights = tf.zeros((1, 2, 4)), tf.ones((1, 2))
    match = tf.function(
        lambda: GreedyMatcher().match(tf.zeros((3, 4)), boxes, weights, lambda *_: similarities)
    )
    matches = match()
    assert (np.array(matches.state) == MatchState.POSITIVE).sum() == 2
    assert int(matches.box_index[0, 0]) == 0
