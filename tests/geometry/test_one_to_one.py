"""One-to-one matchers equal slow oracles: greedy step by step, optimal over all permutations."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from holdfast.errors import HoldfastError
from holdfast.geometry.matching import MatchState
from holdfast.geometry.one_to_one import BipartiteMatcher, HungarianMatcher

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
    found = owners(BipartiteMatcher(), similarities, weights)
    for image in range(2):
        left = np.where(weights[image][:, None] > 0, similarities[image], -np.inf)
        expected = np.full(left.shape[1], -1)
        for _ in range(int(weights[image].sum())):
            row, column = np.unravel_index(left.argmax(), left.shape)
            expected[column] = row
            left[row], left[:, column] = -np.inf, -np.inf
        np.testing.assert_array_equal(found[image], expected)


@settings(max_examples=10)
@given(problems)
def test_optimal_matching_has_the_largest_sum_of_all_permutations(problem):
    similarities, weights = problem
    found = owners(HungarianMatcher(), similarities, weights)
    for image in range(2):
        rows = np.flatnonzero(weights[image])
        assert sorted(found[image][found[image] >= 0]) == rows.tolist()
        columns = np.flatnonzero(found[image] >= 0)
        best = max(
            similarities[image][rows, list(choice)].sum()
            for choice in itertools.permutations(range(similarities.shape[2]), len(rows))
        )
        assert similarities[image][found[image][columns], columns].sum() == pytest.approx(best)


@pytest.mark.parametrize(("matcher", "first"), [(BipartiteMatcher(), 0), (HungarianMatcher(), 1)])
def test_both_work_in_a_graph(matcher, first):
    similarities = np.array([[[3.0, 2.0, 0.0], [2.9, 0.0, 0.0]]], np.float32)
    boxes, weights = tf.zeros((1, 2, 4)), tf.ones((1, 2))
    match = tf.function(
        lambda: matcher.match(tf.zeros((3, 4)), boxes, weights, lambda *_: similarities)
    )
    matches = match()
    assert (np.array(matches.state) == MatchState.POSITIVE).sum() == 2
    assert int(matches.box_index[0, 0]) == first


def test_optimal_matching_of_more_boxes_than_anchors_is_refused():
    with pytest.raises(HoldfastError, match="3 boxes"):
        owners(HungarianMatcher(), np.zeros((1, 3, 2), np.float32), np.ones((1, 3), np.float32))
