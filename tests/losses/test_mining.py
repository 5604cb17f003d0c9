"""Hard-example mining chooses what a slow oracle of the OD API's rules chooses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from holdfast.geometry.matching import MatchState
from holdfast.losses.mining import HardMiner

losses = hnp.arrays(np.float32, (2, 9), elements=st.integers(0, 16).map(lambda n: n / 8))
states = hnp.arrays(np.int32, (2, 9), elements=st.sampled_from([int(s) for s in MatchState]))
# Anchors on a line, each overlapping its neighbors by a third.
LINE = np.array([[0.0, 0.5 * place, 1.0, 0.5 * place + 1.0] for place in range(9)], np.float32)
BOXES = np.stack([LINE, LINE])
OVERLAP = 1 / 3


def oracle(miner: HardMiner, ranking: Any, state: Any) -> np.ndarray[Any, Any]:
    """Choose the anchors of one image."""
    considered: list[int] = []
    for anchor in np.argsort(-ranking, kind="stable"):
        neighbors = {anchor - 1, anchor + 1} & set(considered)
        if not (neighbors and miner.iou_threshold < OVERLAP):
            considered.append(int(anchor))
    considered = considered[: miner.num_hard_examples or None]
    if miner.max_negatives_per_positive:
        positives = sum(state[anchor] == MatchState.POSITIVE for anchor in considered)
        allowed = int(miner.max_negatives_per_positive * positives)
        left = max(allowed, miner.min_negatives_per_image)
        kept = []
        for anchor in considered:
            left -= state[anchor] == MatchState.NEGATIVE
            if state[anchor] == MatchState.POSITIVE or left >= 0:
                kept.append(anchor)
        considered = kept
    return np.isin(np.arange(len(state)), considered)


@settings(max_examples=60)
@given(
    losses,
    losses,
    states,
    st.builds(
        HardMiner,
        num_hard_examples=st.sampled_from([0, 3, 64]),
        iou_threshold=st.sampled_from([0.1, 0.7, 1.0]),
        loss_type=st.sampled_from(["BOTH", "CLASSIFICATION", "LOCALIZATION"]),
        max_negatives_per_positive=st.sampled_from([0, 1, 3]),
        min_negatives_per_image=st.sampled_from([0, 2]),
        classification_weight=st.just(0.5),
        localization_weight=st.just(0.25),
    ),
)
def test_the_chosen_anchors_are_those_of_the_oracle(classification, localization, state, miner):
    chosen = np.array(miner.select(classification, localization, BOXES, state))
    ranking = {
        "BOTH": 0.5 * classification + 0.25 * localization,
        "CLASSIFICATION": classification,
        "LOCALIZATION": localization,
    }[miner.loss_type]
    for image in range(2):
        expected = oracle(miner, ranking[image], state[image])
        np.testing.assert_array_equal(chosen[image], expected)


def test_three_negatives_stay_for_each_positive_the_most_costly_first():
    classification = np.array([[0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6, 0.5]], np.float32)
    state = np.zeros((1, 9), np.int32)
    state[0, 0] = MatchState.POSITIVE
    miner = HardMiner(num_hard_examples=0, iou_threshold=1.0, max_negatives_per_positive=3)
    chosen = np.array(miner.select(classification, np.zeros_like(classification), BOXES[:1], state))
    np.testing.assert_array_equal(np.flatnonzero(chosen), [0, 1, 3, 5])


@pytest.mark.parametrize("iou_threshold", [0.99, 1.0])
def test_only_chosen_anchors_are_trained_also_in_a_graph(iou_threshold):
    miner = HardMiner(num_hard_examples=2, iou_threshold=iou_threshold)
    costs = tf.constant([[5.0, 1.0, 4.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0]])

    @tf.function
    def gradient(costs: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(costs)
            chosen = miner.select(costs, costs, BOXES[:1], tf.zeros((1, 9), tf.int32))
            total = tf.reduce_sum(costs * chosen)
        return tape.gradient(total, costs)

    np.testing.assert_array_equal(gradient(costs), [[1, 0, 1, 0, 0, 0, 0, 0, 0]])


@pytest.mark.parametrize("number", [0, 3, 64])
@pytest.mark.parametrize("iou_threshold", [0.1, 1.0])
def test_a_number_of_anchors_unknown_until_the_call_changes_nothing(number, iou_threshold):
    miner = HardMiner(
        num_hard_examples=number, iou_threshold=iou_threshold, max_negatives_per_positive=1
    )
    random = np.random.default_rng(0)
    ranked = random.random((2, 9), np.float32)
    state = random.choice([int(each) for each in MatchState], (2, 9)).astype(np.int32)
    unknown = [
        tf.TensorSpec((2, None)),
        tf.TensorSpec((2, None, 4)),
        tf.TensorSpec((2, None), tf.int32),
    ]
    select = tf.function(
        lambda losses, boxes, state: miner.select(losses, losses, boxes, state),
        input_signature=unknown,
    )
    expected = miner.select(ranked, ranked, tf.constant(BOXES), state)
    np.testing.assert_array_equal(select(ranked, BOXES, state), expected)
