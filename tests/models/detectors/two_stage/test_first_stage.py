"""Anchors of the first stage: which take part, and what the sampled ones learn."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from holdfast.data.sample import GroundTruth
from holdfast.geometry.anchors import GridAnchors
from holdfast.geometry.coding import FasterRcnnCoder
from holdfast.geometry.matching import ArgmaxMatcher
from holdfast.geometry.overlap import iou
from holdfast.geometry.targets import AnchorAssigner
from holdfast.models.detectors.two_stage.first_stage import (
    LOCALIZATION,
    OBJECTNESS,
    FirstStage,
    ProposalTargets,
)
from holdfast.models.inference.detections import Suppression


def stage(**changes) -> FirstStage:
    keywords = {
        "anchor_generator": GridAnchors(
            height=32, width=32, scales=(0.5, 1.0), aspect_ratios=(1.0, 2.0)
        ),
        "assigner": AnchorAssigner(
            similarity=iou,
            matcher=ArgmaxMatcher(
                matched_threshold=0.7, unmatched_threshold=0.3, force_match_for_each_row=True
            ),
            coder=FasterRcnnCoder(),
        ),
        "suppression": Suppression(
            iou_threshold=0.7,
            max_detections_per_class=6,
            max_total_detections=6,
            change_coordinate_frame=False,
        ),
        "sampler": lambda seeds: lambda candidates, positives, size: candidates,
    }
    return FirstStage(**keywords | changes)


def all_anchors() -> np.ndarray:
    return np.concatenate(stage().anchor_generator.anchors([(4, 6)], 1, 1))


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("clips", [False, True])
@pytest.mark.parametrize("is_known", [False, True])
def test_anchors_over_the_border_are_clipped_or_left_out_of_training(training, clips, is_known):
    def lay(height, width):
        shapes = [(-(-height // 16), -(-width // 16))]
        return stage(clips_anchors=clips).lay_anchors(shapes, height, width, training=training)

    laid = lay(64, 96) if is_known else tf.function(lay)(tf.constant(64), tf.constant(96))
    boxes = all_anchors()
    if training and not clips:
        is_inside = (boxes[:, :2] >= 0).all(1) & (boxes[:, 2] <= 64) & (boxes[:, 3] <= 96)
        np.testing.assert_array_equal(laid.kept, np.flatnonzero(is_inside))
        np.testing.assert_allclose(laid.boxes, boxes[is_inside])
    else:
        assert laid.kept is None
        np.testing.assert_allclose(laid.boxes, np.clip(boxes, 0, [64, 96, 64, 96]))


def test_sampled_anchors_learn_and_a_box_of_weight_zero_is_nobodys():
    anchors = np.array(
        [[0, 0, 32, 32], [0, 0, 30, 32], [32, 32, 64, 64], [0, 40, 8, 48]], "float32"
    )
    boxes = np.array([[[0, 0, 32, 32], [32, 32, 64, 64]]], "float32")
    truth = GroundTruth(
        boxes=tf.constant(boxes / 64),
        classes=tf.constant([[2, 1]]),
        weights=tf.constant([[1.0, 0.0]]),
    )
    asked = []

    def draw(candidates, positives, size):
        asked.append((candidates.numpy(), positives.numpy(), size))
        return tf.constant([[True, False, False, True]])

    found = stage(sampler=lambda seeds: draw, minibatch_size=7).targets(
        anchors, truth, tf.constant(boxes), tf.zeros((1, 2), tf.int64)
    )
    candidates, positives, size = asked[0]
    assert candidates.tolist() == [[True, True, False, True]]  # the third lies on a weightless box
    assert positives.tolist() == [[True, True, False, False]]
    assert size == 7
    np.testing.assert_array_equal(found.is_object, [[1, 1, 0, 0]])
    np.testing.assert_array_equal(found.objectness_weights, [[1, 0, 0, 1]])
    np.testing.assert_array_equal(found.box_weights, [[1, 0, 0, 0]])
    np.testing.assert_array_equal(found.image_weights, [1])


def test_losses_are_averaged_over_each_images_sample_and_then_over_images():
    random = np.random.default_rng(0)
    codes, logits = random.normal(size=(2, 5, 4)), random.normal(size=(2, 5, 2))
    is_object = np.array([[1, 0, 0, 1, 0], [0, 0, 1, 0, 0]])
    sampled = np.array([[1, 1, 0, 1, 0], [0, 1, 0, 0, 0]], "float32")
    wanted_codes = random.normal(size=(2, 5, 4))
    targets = ProposalTargets(
        is_object=tf.constant(is_object, tf.int32),
        objectness_weights=tf.constant(sampled),
        box_targets=tf.constant(wanted_codes, tf.float32),
        box_weights=tf.constant(sampled * is_object, tf.float32),
        image_weights=tf.ones(2),
        object_weights=tf.ones(2),
    )
    normalizers = {LOCALIZATION: tf.constant(2.0), OBJECTNESS: tf.constant(2.0)}
    terms = stage(localization_weight=2.0).terms(
        tf.constant(codes, tf.float32), tf.constant(logits, tf.float32), targets, normalizers
    )
    distance = np.abs(codes - wanted_codes)
    huber = np.where(distance < 1, 0.5 * distance**2, distance - 0.5).sum(-1)
    entropy = np.log(np.exp(logits).sum(-1)) - np.take_along_axis(
        logits, is_object[..., None], axis=-1
    ).squeeze(-1)
    count = sampled.sum(1)
    localization = 2.0 * np.mean((huber * sampled * is_object).sum(1) / count)
    objectness = np.mean((entropy * sampled).sum(1) / count)
    assert float(terms[LOCALIZATION]) == pytest.approx(localization, rel=1e-5)
    assert float(terms[OBJECTNESS]) == pytest.approx(objectness, rel=1e-5)


def test_proposals_lie_in_the_true_image_and_have_no_gradient():
    codes, logits = tf.zeros((1, 96, 4)), tf.random.stateless_normal((1, 96, 2), (1, 2))
    with tf.GradientTape() as tape:
        tape.watch((codes, logits))
        proposals = stage().propose(
            codes, logits, tf.constant(all_anchors()), tf.constant([[0.0, 0.0, 40.0, 96.0]])
        )
    count = int(proposals.count[0])
    assert 0 < count <= 6
    boxes = proposals.boxes.numpy()[0]
    assert boxes[:count, 2].max() <= 40.0
    assert (boxes[count:] == 0).all()
    assert (np.diff(proposals.scores.numpy()[0, :count]) <= 0).all()
    assert tape.gradient(proposals.boxes, (codes, logits)) == (None, None)
