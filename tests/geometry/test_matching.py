"""The argmax matcher matches as the OD API does, and never matches padding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from holdfast.errors import HoldfastError
from holdfast.geometry.matching import BOXES_AT_A_TIME, ArgmaxMatcher, Matches, MatchState
from holdfast.geometry.overlap import iou, negative_squared_distance

from .boxes_strategy import boxes, iou_oracle, solid_boxes

GOLDEN = {
    "argmax_5_5_force": ArgmaxMatcher(force_match_for_each_row=True),
    "argmax_7_3": ArgmaxMatcher(matched_threshold=0.7, unmatched_threshold=0.3),
    "argmax_7_3_negs_false": ArgmaxMatcher(
        matched_threshold=0.7,
        unmatched_threshold=0.3,
        negatives_lower_than_unmatched=False,
        force_match_for_each_row=True,
    ),
}
MATCHERS = [*GOLDEN.values(), ArgmaxMatcher(ignore_thresholds=True)]
UNMATCHED, IGNORED = -1, -2  # how the OD API writes them


def od_api_form(matches: Matches) -> np.ndarray[Any, Any]:
    state, index = np.array(matches.state), np.array(matches.box_index)
    unmatched = np.where(state == MatchState.IGNORED, IGNORED, UNMATCHED)
    return np.where(state == MatchState.POSITIVE, index, unmatched)


def oracle(matcher: ArgmaxMatcher, anchors: Any, boxes: Any, weights: Any) -> list[int]:
    """Match the anchors of one image, box by box; padding was removed."""
    values = np.array([[iou_oracle(box, anchor) for anchor in anchors] for box in boxes])
    if not len(boxes):
        return [UNMATCHED] * len(anchors)
    result = []
    for similarities in values.T:
        best = int(similarities.argmax())
        judged = _judge(matcher, similarities[best], best)
        result.append(IGNORED if judged >= 0 and not weights[best] else judged)
    if matcher.force_match_for_each_row:
        for row in reversed(range(len(boxes))):
            if weights[row]:
                result[int(values[row].argmax())] = row
    return result


def _judge(matcher: ArgmaxMatcher, similarity: float, best: int) -> int:
    if matcher.ignore_thresholds or similarity >= matcher.matched_threshold:
        return best
    below, between = UNMATCHED, IGNORED
    if not matcher.negatives_lower_than_unmatched:
        below, between = between, below
    return below if similarity < matcher.unmatched_threshold else between


@pytest.mark.parametrize("name", GOLDEN)
def test_matches_equal_the_od_api(shared, name):
    golden = np.load(shared / "goldens/_units/box_ops.npz")
    rows = golden["gt"][None]
    matches = GOLDEN[name].match(golden["anchors"], rows, np.ones(rows.shape[:2]), iou)
    np.testing.assert_array_equal(od_api_form(matches)[0], golden[f"match/{name}"])


@settings(max_examples=40)
@given(st.data(), st.sampled_from(MATCHERS), st.integers(0, BOXES_AT_A_TIME + 5))
def test_matches_equal_the_oracle(data, matcher, num_boxes):
    anchors = data.draw(boxes((7,)))
    rows = data.draw(solid_boxes((2, num_boxes)))
    weights = data.draw(
        hnp.arrays(np.float32, (2, num_boxes), elements=st.sampled_from([0.0, 0.5, 1.0]))
    )
    matches = od_api_form(matcher.match(anchors, rows, weights, iou))
    for image in range(2):
        expected = oracle(matcher, anchors, rows[image], weights[image])
        np.testing.assert_array_equal(matches[image], expected)


@settings(max_examples=25)
@given(st.data(), st.sampled_from(MATCHERS), st.integers(0, 3), st.integers(0, 20))
def test_padding_changes_nothing_wherever_it_stands(data, matcher, num_boxes, num_padding):
    anchors = data.draw(boxes((6,)))
    rows = data.draw(solid_boxes((1, num_boxes)))
    places = data.draw(st.permutations(range(num_boxes + num_padding)))
    place = np.array(sorted(places[:num_boxes]), np.int64)
    padded = np.zeros((1, num_boxes + num_padding, 4), np.float32)
    weights = np.zeros(padded.shape[:2], np.float32)
    padded[:, place], weights[:, place] = rows, 1.0
    for similarity in (iou, negative_squared_distance):
        plain = od_api_form(matcher.match(anchors, rows, np.ones(rows.shape[:2]), similarity))
        found = od_api_form(matcher.match(anchors, padded, weights, similarity))
        expected = np.where(plain < 0, plain, np.append(place, 0)[np.maximum(plain, 0)])
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("matcher", MATCHERS)
@pytest.mark.parametrize("num_padding", [0, 3])
def test_an_image_without_boxes_is_all_background(matcher, num_padding):
    anchors = np.array([[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]], np.float32)
    padding = np.zeros((1, num_padding, 4), np.float32)
    matches = matcher.match(anchors, padding, np.zeros((1, num_padding), np.float32), iou)
    np.testing.assert_array_equal(matches.state, [[MatchState.NEGATIVE] * 2])


def test_anchors_on_a_box_of_weight_zero_are_ignored():
    anchors = np.array([[0.0, 0.0, 1.0, 1.0], [2.0, 2.0, 3.0, 3.0]], np.float32)
    matcher = ArgmaxMatcher(force_match_for_each_row=True)
    matches = matcher.match(anchors, anchors[None], np.array([[0.0, 1.0]], np.float32), iou)
    expected = [[MatchState.IGNORED, MatchState.POSITIVE]]
    np.testing.assert_array_equal(matches.state, expected)


def test_of_two_boxes_that_want_one_anchor_the_first_has_it():
    anchor = np.array([[0.0, 0.0, 1.0, 1.0]], np.float32)
    rows = np.array([[[0.0, 0.0, 0.1, 0.1], [0.0, 0.0, 1.0, 1.0]]], np.float32)
    weights = np.ones((1, 2), np.float32)
    forced = ArgmaxMatcher(force_match_for_each_row=True).match(anchor, rows, weights, iou)
    best = ArgmaxMatcher().match(anchor, rows, weights, iou)
    assert (int(forced.box_index[0, 0]), int(best.box_index[0, 0])) == (0, 1)


def test_each_image_may_have_anchors_of_its_own():
    anchors = np.array([[[0.0, 0.0, 1.0, 1.0]], [[2.0, 2.0, 3.0, 3.0]]], np.float32)
    rows = np.array([[[0.0, 0.0, 1.0, 1.0]]] * 2, np.float32)
    matches = ArgmaxMatcher().match(anchors, rows, np.ones((2, 1), np.float32), iou)
    np.testing.assert_array_equal(od_api_form(matches), [[0], [UNMATCHED]])


def test_a_graph_takes_any_number_of_images_and_boxes():
    anchors = np.array([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.5, 0.5]], np.float32)
    matcher = ArgmaxMatcher(force_match_for_each_row=True)
    match = tf.function(
        lambda rows, weights: matcher.match(anchors, rows, weights, iou),
        input_signature=[tf.TensorSpec([None, None, 4]), tf.TensorSpec([None, None])],
    )
    for batch, count in ((1, 0), (2, 3), (3, 20)):
        rows = np.tile(np.array([0.0, 0.0, 0.5, 0.5], np.float32), (batch, count, 1))
        matches = match(tf.constant(rows), tf.ones((batch, count)))
        assert matches.state.shape == (batch, 2)
        np.testing.assert_array_equal(np.array(matches.state)[:, 1], int(count > 0))


def test_no_tensor_of_matching_grows_with_images_times_boxes_times_anchors():
    batch, count, num_anchors = 2, 200, 500
    matcher = ArgmaxMatcher(force_match_for_each_row=True)
    anchors = tf.random.stateless_uniform((num_anchors, 4), seed=[1, 2])
    traced = tf.function(
        lambda rows, weights: matcher.match(anchors, rows, weights, iou)
    ).get_concrete_function(tf.TensorSpec([batch, count, 4]), tf.TensorSpec([batch, count]))
    sizes = [shape.num_elements() or 0 for shape in _shapes(traced.graph)]
    assert max(sizes) <= batch * BOXES_AT_A_TIME * num_anchors < batch * count * num_anchors


def _shapes(graph: Any) -> Iterator[tf.TensorShape]:
    functions = [function.graph for function in graph._functions.values()]
    for each in (graph, *functions):
        for operation in each.get_operations():
            yield from (output.shape for output in operation.outputs)


def test_thresholds_that_contradict_each_other_are_refused():
    with pytest.raises(HoldfastError, match="above matched_threshold"):
        ArgmaxMatcher(matched_threshold=0.3, unmatched_threshold=0.5)
    with pytest.raises(HoldfastError, match=r"both are 0\.5"):
        ArgmaxMatcher(negatives_lower_than_unmatched=False)
    ArgmaxMatcher(matched_threshold=0.3, unmatched_threshold=0.5, ignore_thresholds=True)
