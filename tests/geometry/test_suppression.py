"""Suppression equals a greedy oracle, in fixed shapes and a fixed order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from holdfast.geometry.suppression import (
    Selection,
    clip_candidates,
    greedy_order,
    select_best,
    suppress_by_best_class,
    suppress_per_class,
)

from .boxes_strategy import boxes, iou_oracle, solid_boxes

UNIT = np.array([[0.0, 0.0, 1.0, 1.0]], np.float32)
scores = st.integers(0, 8).map(lambda number: np.float32(number / 8))  # many are equal
SETTINGS = {"score_threshold": 0.2, "iou_threshold": 0.4}


def greedy(rows: Any, values: Any, *, limit: int, threshold: float = 0.4) -> list[int]:
    """Indices by falling score without those that overlap an earlier one too much."""
    chosen: list[int] = []
    for index in np.argsort(-values, kind="stable"):
        overlaps = [iou_oracle(rows[index], rows[other]) for other in chosen]
        if len(chosen) < limit and all(overlap <= threshold for overlap in overlaps):
            chosen.append(int(index))
    return chosen


def listed(selection: Selection, image: int) -> list[tuple[float, int, int]]:
    count = int(selection.count[image])
    parts = (selection.scores, selection.classes, selection.indices)
    for values in (*parts, selection.boxes):
        assert not np.array(values)[image, count:].any()
    columns = [np.array(values)[image, :count] for values in parts]
    return [(float(score), int(c), int(index)) for score, c, index in zip(*columns, strict=True)]


@settings(max_examples=25)
@given(st.data(), st.booleans(), st.integers(1, 9))
def test_each_class_is_suppressed_greedily_and_the_best_of_all_are_kept(data, own_boxes, total):
    rows = data.draw(solid_boxes((2, 6, 3) if own_boxes else (2, 6)))
    values = data.draw(hnp.arrays(np.float32, (2, 6, 3), elements=scores))
    chosen = suppress_per_class(tf.constant(rows), tf.constant(values), max_per_class=2, **SETTINGS)
    selection = select_best(chosen, total)
    assert selection.boxes.shape == (2, total, 4)
    for image in range(2):
        expected = []
        for column in range(3):
            of_class = rows[image, :, column] if own_boxes else rows[image]
            allowed = np.flatnonzero(values[image, :, column] > SETTINGS["score_threshold"])
            kept = greedy(of_class[allowed], values[image, allowed, column], limit=2)
            expected += [(values[image, allowed[k], column], column, allowed[k]) for k in kept]
        expected = sorted(expected, key=lambda entry: -entry[0])[:total]
        assert listed(selection, image) == [(float(s), c, int(i)) for s, c, i in expected]
        for place, (_, column, index) in enumerate(listed(selection, image)):
            box = rows[image, index, column] if own_boxes else rows[image, index]
            np.testing.assert_array_equal(np.array(selection.boxes)[image, place], box)


@settings(max_examples=25)
@given(st.data(), st.booleans())
def test_class_agnostic_suppression_gives_each_box_its_best_class(data, own_boxes):
    rows = data.draw(solid_boxes((1, 6, 3) if own_boxes else (1, 6)))
    values = data.draw(hnp.arrays(np.float32, (1, 6, 3), elements=scores))
    chosen = suppress_by_best_class(tf.constant(rows), tf.constant(values), max_total=4, **SETTINGS)
    best = values[0].argmax(axis=-1)
    own = rows[0][np.arange(6), best] if own_boxes else rows[0]
    allowed = np.flatnonzero(values[0].max(axis=-1) > SETTINGS["score_threshold"])
    kept = [allowed[k] for k in greedy(own[allowed], values[0].max(axis=-1)[allowed], limit=4)]
    expected = [(float(values[0, k, best[k]]), int(best[k]), int(k)) for k in kept]
    assert listed(select_best(chosen, 4), 0) == expected


def test_soft_suppression_lowers_the_score_of_what_overlaps():
    rows = tf.constant([[[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.5]]])
    values = tf.constant([[[0.9], [0.8]]])
    chosen = suppress_per_class(
        rows, values, score_threshold=0.1, iou_threshold=1.0, max_per_class=2, soft_sigma=0.5
    )
    expected = [[0.9, 0.8 * np.exp(-(0.5**2) / (2 * 0.5))]]
    np.testing.assert_allclose(select_best(chosen, 2).scores, expected, rtol=1e-5)


def test_boxes_outside_the_window_leave_their_places_to_others():
    rows = tf.constant([[[2.0, 2.0, 3.0, 3.0], [0.0, 0.5, 0.5, 1.5], [0.0, 0.0, 0.1, 0.1]]])
    values = tf.constant([[[0.9], [0.8], [0.7]]])
    chosen = suppress_per_class(rows, values, max_per_class=3, **SETTINGS)
    window = tf.constant([[0.0, 0.0, 0.5, 1.0]])
    selection = select_best(clip_candidates(chosen, window, change_frame=True), 2)
    np.testing.assert_array_equal(selection.indices, [[1, 2]])
    np.testing.assert_allclose(
        selection.boxes, [[[0.0, 0.5, 1.0, 1.0], [0.0, 0.0, 0.2, 0.1]]], atol=1e-6
    )
    kept_frame = select_best(clip_candidates(chosen, window, change_frame=False), 2)
    np.testing.assert_allclose(kept_frame.boxes[0, 0], [0.0, 0.5, 0.5, 1.0])


def test_negative_scores_are_no_detections():
    rows, values = tf.constant(UNIT[None]), tf.constant([[[-0.5]]])
    chosen = suppress_per_class(
        rows, values, score_threshold=-1.0, iou_threshold=0.5, max_per_class=1
    )
    assert int(select_best(chosen, 1).count[0]) == 1
    clipped = clip_candidates(chosen, tf.constant(UNIT), change_frame=False)
    assert int(select_best(clipped, 1).count[0]) == 0


@settings(max_examples=25)
@given(
    boxes((1, 8)),
    hnp.arrays(np.float32, (1, 8), elements=scores),
    st.sampled_from([0.0, 0.4, 1.0]),
    st.integers(1, 8),
)
def test_the_greedy_order_falls_and_skips_what_overlaps(rows, values, threshold, limit):
    order = greedy_order(
        tf.constant(rows), tf.constant(values), limit=limit, iou_threshold=threshold
    )
    expected = greedy(rows[0], values[0], limit=limit, threshold=threshold)
    is_kept = np.array(order.is_kept)[0]
    assert order.indices.shape == (1, limit)
    assert np.array(order.indices)[0][is_kept].tolist() == expected
    np.testing.assert_array_equal(np.array(order.scores)[0][is_kept], values[0][expected])


@pytest.mark.parametrize("batch", [1, 3])
def test_a_graph_takes_any_number_of_images_and_boxes(batch):
    def run(rows: Any, values: Any) -> Selection:
        return select_best(suppress_per_class(rows, values, max_per_class=2, **SETTINGS), 5)

    traced = tf.function(
        run, input_signature=[tf.TensorSpec([None, None, 4]), tf.TensorSpec([None, None, 2])]
    )
    random = np.random.default_rng(batch)
    corners = np.sort(random.random((batch, 7, 2, 2), np.float32), axis=-2).reshape(batch, 7, 4)
    values = tf.constant(random.random((batch, 7, 2), np.float32))
    for eager, graph in zip(
        run(tf.constant(corners), values), traced(tf.constant(corners), values), strict=True
    ):
        np.testing.assert_array_equal(eager, graph)
