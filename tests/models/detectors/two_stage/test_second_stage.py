"""Regions: which are looked at, what they learn, what they cost, and what becomes of them."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from holdfast.data.sample import GroundTruth
from holdfast.geometry.coding import FasterRcnnCoder
from holdfast.geometry.matching import ArgmaxMatcher
from holdfast.geometry.overlap import iou
from holdfast.geometry.targets import AnchorAssigner
from holdfast.losses.classification import softmax
from holdfast.losses.mining import HardMiner
from holdfast.models.detectors.two_stage.first_stage import Proposals
from holdfast.models.detectors.two_stage.second_stage import (
    CLASSIFICATION,
    LOCALIZATION,
    Regions,
    SecondStage,
)
from holdfast.models.inference.detections import Suppression
from holdfast.models.inference.scores import ScoreConversion

BOXES = np.array(
    [[[0, 0, 20, 20], [40, 40, 60, 60], [0, 0, 22, 20], [30, 0, 50, 20], [0, 0, 0, 0]]], "float32"
)
TRUTH = GroundTruth(
    boxes=tf.constant(BOXES[:, :1] / 64),
    classes=tf.constant([[1]]),
    weights=tf.constant([[1.0]]),
)
NORMALIZERS = {LOCALIZATION: tf.constant(1.0), CLASSIFICATION: tf.constant(1.0)}
SEEDS = tf.zeros((1, 2), tf.int64)


def drawing(*is_drawn: bool):
    return lambda seeds: lambda candidates, positives, size: tf.constant([is_drawn])


def stage(**changes) -> SecondStage:
    keywords = {
        "assigner": AnchorAssigner(
            similarity=iou, matcher=ArgmaxMatcher(), coder=FasterRcnnCoder()
        ),
        "classification": softmax,
        "score_converter": ScoreConversion(conversion="SOFTMAX"),
        "suppression": Suppression(max_detections_per_class=4, max_total_detections=4),
        "sampler": drawing(False, True, True, False, False),
        "batch_size": 3,
    }
    return SecondStage(**keywords | changes)


def proposals(count: int = 4) -> Proposals:
    return Proposals(tf.constant(BOXES), tf.ones((1, 5)), tf.constant([count]))


def test_sampled_proposals_keep_their_order_and_empty_places_are_zero():
    regions = stage().sample(proposals(), TRUTH, TRUTH.boxes * 64, SEEDS)
    np.testing.assert_array_equal(regions.boxes[0], [*BOXES[0, 1:3], np.zeros(4)])
    np.testing.assert_array_equal(regions.targets.classes, [[-1, 1, 1]])
    assert int(regions.count[0]) == 2
    np.testing.assert_array_equal(regions.is_region, [[True, True, False]])


def test_with_static_shapes_the_first_proposal_fills_the_empty_places():
    regions = stage(keeps_size=True).sample(proposals(), TRUTH, TRUTH.boxes * 64, SEEDS)
    np.testing.assert_array_equal(regions.boxes[0], BOXES[0, [1, 2, 0]])
    assert int(regions.count[0]) == 3


def test_padded_proposals_are_no_candidates():
    seen = []

    def draw(candidates, positives, size):
        seen.append((candidates.numpy().tolist(), positives.numpy().tolist(), size))
        return candidates

    stage(sampler=lambda seeds: draw).sample(proposals(3), TRUTH, TRUTH.boxes * 64, SEEDS)
    assert seen == [([[True, True, True, False, False]], [[True, False, True, False, False]], 3)]


def test_where_a_miner_chooses_all_proposals_are_trained():
    mining = stage(sampler=None, miner=HardMiner())
    regions = mining.sample(proposals(), TRUTH, TRUTH.boxes * 64, SEEDS)
    np.testing.assert_array_equal(regions.boxes, BOXES)
    assert int(regions.count[0]) == 4


def region_losses(codes, logits, regions):
    """Costs of each region, in NumPy: codes of the region's own class, softmax of all columns."""
    classes = regions.targets.classes.numpy()[0]
    wanted = regions.targets.box_targets.numpy()[0]
    own = codes[np.arange(len(classes)), np.maximum(classes, 0)]
    distance = np.abs(own - wanted)
    huber = np.where(distance < 1, 0.5 * distance**2, distance - 0.5).sum(-1) * (classes >= 0)
    entropy = np.log(np.exp(logits).sum(-1)) - logits[np.arange(len(classes)), classes + 1]
    return huber, entropy


@pytest.mark.parametrize("mines", [False, True])
def test_losses_are_averaged_over_regions_and_a_miner_keeps_the_most_costly(mines):
    random = np.random.default_rng(2)
    miner = HardMiner(num_hard_examples=2, iou_threshold=0.9, loss_type="CLASSIFICATION")
    second = stage(sampler=None, miner=miner if mines else None, classification_weight=3.0)
    regions = second.sample(proposals(), TRUTH, TRUTH.boxes * 64, SEEDS)
    codes, logits = random.normal(size=(5, 3, 4)), random.normal(size=(5, 4))
    terms = second.terms(
        tf.constant(codes, tf.float32),
        tf.constant(logits, tf.float32),
        regions,
        tf.ones(1),
        NORMALIZERS,
    )
    huber, entropy = region_losses(codes, logits, regions)
    kept = np.argsort(-entropy[:4])[:2] if mines else np.arange(4)
    assert float(terms[LOCALIZATION]) == pytest.approx(huber[kept].sum() / 4, rel=1e-5)
    assert float(terms[CLASSIFICATION]) == pytest.approx(3 * entropy[kept].sum() / 4, rel=1e-5)


@pytest.mark.parametrize("num_boxes", [1, 3])
def test_detections_come_from_regions_only_and_are_normalized_to_the_true_image(num_boxes):
    logits = np.full((5, 4), -5.0, "float32")
    logits[:, 3] = [0.0, 3.0, -9.0, 2.0, 9.0]  # the last is an empty place
    regions = Regions(tf.constant(BOXES), tf.constant([4]), None)
    found = stage().detections(
        tf.zeros((5, num_boxes, 4)), tf.constant(logits), regions, tf.constant([[0.0, 0, 64, 48]])
    )
    np.testing.assert_array_equal(found.classes[0, :2], [2, 2])
    np.testing.assert_allclose(found.boxes[0, 0], [40 / 64, 40 / 48, 60 / 64, 1.0], rtol=1e-6)
    np.testing.assert_allclose(found.boxes[0, 1], [30 / 64, 0, 50 / 64, 20 / 48], rtol=1e-6)
