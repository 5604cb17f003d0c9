"""Targets of anchors are those of the OD API's golden detectors, with and without padding."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from holdfast.config.load import load_config
from holdfast.geometry.coding import FasterRcnnCoder
from holdfast.geometry.matching import ArgmaxMatcher, MatchState
from holdfast.geometry.overlap import iou
from holdfast.geometry.targets import BACKGROUND, AnchorAssigner, target_columns

DETECTORS = [
    "ssd_mobilenet_v2_320x320_coco17_tpu-8",
    "ssd_inception_v2_coco",
    "ssd_mobilenet_v2_fpnlite_320x320_coco17_tpu-8",
    "ssd_resnet50_v1_fpn_640x640_coco17_tpu-8",
    "ssd_efficientdet_d0_512x512_coco17_tpu-8",
]
SQUARE = np.array([0.0, 0.0, 1.0, 1.0], np.float32)
ASSIGNER = AnchorAssigner(similarity=iou, matcher=ArgmaxMatcher(), coder=FasterRcnnCoder())


def golden_assigner(folder: Path) -> tuple[AnchorAssigner, Any]:
    ssd = load_config(folder / "pipeline.config").model.ssd
    matcher = ssd.matcher.argmax_matcher
    coder = ssd.box_coder.faster_rcnn_box_coder
    assigner = AnchorAssigner(
        similarity=iou,
        matcher=ArgmaxMatcher(
            **{field.name: getattr(matcher, field.name) for field in fields(ArgmaxMatcher)}
        ),
        coder=FasterRcnnCoder(
            **{field.name: getattr(coder, field.name) for field in fields(FasterRcnnCoder)}
        ),
        negative_class_weight=ssd.negative_class_weight,
    )
    return assigner, ssd


def golden_truth(folder: Path, size: int) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Boxes, classes and weights, padded to a number of rows."""
    golden = np.load(folder / "groundtruth.npz")
    boxes = np.zeros((2, size, 4), np.float32)
    classes, weights = np.zeros((2, size), np.int32), np.zeros((2, size), np.float32)
    for image in range(2):
        count = len(golden[f"boxes__{image}"])
        boxes[image, :count] = golden[f"boxes__{image}"]
        classes[image, :count] = golden[f"classes__{image}"]
        weights[image, :count] = 1.0
    return tf.constant(boxes), tf.constant(classes), tf.constant(weights)


@pytest.mark.parametrize("padded_to", [3, 8, 100])
@pytest.mark.parametrize("name", DETECTORS)
def test_targets_equal_the_od_api(shared, name, padded_to):
    folder = shared / "goldens" / name
    assigner, ssd = golden_assigner(folder)
    golden, anchors = np.load(folder / "targets.npz"), np.load(folder / "outputs.npz")["anchors"]
    targets = assigner.assign(anchors, *golden_truth(folder, padded_to))
    is_positive = np.array(targets.matches.state) == MatchState.POSITIVE
    ignored = np.where(np.array(targets.matches.state) == MatchState.IGNORED, -2, -1)
    match = np.where(is_positive, np.array(targets.matches.box_index), ignored)
    np.testing.assert_array_equal(match, golden["match"])
    columns = np.array(
        target_columns(
            targets.classes,
            has_background_column=ssd.add_background_class,
            background_as_zeros=ssd.encode_background_as_zeros,
        )
    )
    np.testing.assert_array_equal(columns >= 0, golden["cls_targets_sum"])
    np.testing.assert_array_equal(np.maximum(columns, 0), golden["cls_targets_argmax"])
    np.testing.assert_array_equal(targets.class_weights, golden["cls_weights"])
    np.testing.assert_array_equal(targets.box_weights, golden["reg_weights"])
    image, anchor = golden["reg_pos_index"].T
    box_targets = np.array(targets.box_targets)
    np.testing.assert_allclose(box_targets[image, anchor], golden["reg_pos_targets"], atol=1e-5)
    assert not box_targets[~is_positive].any()


def test_a_graph_gives_the_same_targets(shared):
    folder = shared / "goldens" / DETECTORS[0]
    assigner, _ = golden_assigner(folder)
    anchors = np.load(folder / "outputs.npz")["anchors"]
    truth = golden_truth(folder, 5)
    assign = tf.function(lambda *truth: assigner.assign(anchors, *truth))
    for eager, traced in zip(
        tf.nest.flatten(assigner.assign(anchors, *truth)),
        tf.nest.flatten(assign(*truth)),
        strict=True,
    ):
        np.testing.assert_allclose(eager, traced, atol=1e-5)


def test_without_any_box_everything_is_background():
    targets = ASSIGNER.assign(
        SQUARE[None], tf.zeros((2, 0, 4)), tf.zeros((2, 0), tf.int32), tf.zeros((2, 0))
    )
    np.testing.assert_array_equal(targets.classes, [[BACKGROUND]] * 2)
    np.testing.assert_array_equal(targets.class_weights, [[1.0]] * 2)
    assert not np.array(targets.box_targets).any()
    assert not np.array(targets.box_weights).any()


def test_an_anchor_counts_as_its_box_background_as_told_and_the_ignored_nothing():
    assigner = AnchorAssigner(
        similarity=iou,
        matcher=ArgmaxMatcher(matched_threshold=0.8, unmatched_threshold=0.4),
        coder=FasterRcnnCoder(),
        negative_class_weight=0.25,
    )
    anchors = np.stack([SQUARE, SQUARE * [1, 1, 1, 0.5], SQUARE + 5]).astype(np.float32)
    truth = tf.constant(SQUARE[None, None]), tf.constant([[7]]), tf.constant([[0.5]])
    targets = assigner.assign(anchors, *truth)
    states = [MatchState.POSITIVE, MatchState.IGNORED, MatchState.NEGATIVE]
    np.testing.assert_array_equal(targets.matches.state, [states])
    np.testing.assert_array_equal(targets.classes, [[7, BACKGROUND, BACKGROUND]])
    np.testing.assert_array_equal(targets.class_weights, [[0.5, 0.0, 0.25]])
    np.testing.assert_array_equal(targets.box_weights, [[0.5, 0.0, 0.0]])


@pytest.mark.parametrize(
    ("has_background_column", "background_as_zeros", "expected"),
    [(True, True, [-1, 1]), (True, False, [0, 1]), (False, True, [-1, 0])],
)
def test_columns_follow_the_background(has_background_column, background_as_zeros, expected):
    columns = target_columns(
        tf.constant([BACKGROUND, 0]),
        has_background_column=has_background_column,
        background_as_zeros=background_as_zeros,
    )
    np.testing.assert_array_equal(columns, expected)


def test_confidences_are_targets_and_sure_ones_count_more():
    anchors = np.stack([SQUARE + 2 * place for place in range(4)]).astype(np.float32)
    boxes = anchors[None, :3]  # the last anchor is background
    classes, confidences = np.array([[0, 1, 1]]), np.array([[0.5, -1.0, 0.0]], np.float32)
    targets = ASSIGNER.assign_confidences(
        anchors,
        boxes,
        classes.astype(np.int32),
        np.ones((1, 3), np.float32),
        confidences,
        num_classes=2,
        implicit_class_weight=0.5,
    )
    # columns: background, class 0, class 1
    expected = [[0, 0.5, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0]]
    np.testing.assert_array_equal(targets.class_targets, [expected])
    weights = [[1, 1, 0.5], [0.5, 0.5, 1], [0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]
    np.testing.assert_array_equal(targets.class_weights, [weights])
    np.testing.assert_array_equal(targets.box_weights, [[1, 0, 0, 0]])
    assert targets.box_targets.shape == (1, 4, 4)
