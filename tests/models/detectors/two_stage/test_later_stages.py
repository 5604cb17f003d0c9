"""Regions looked at in chunks, and all at once: the same losses, gradients and detections."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tests.models.detectors.small_configs import small_stages
from tests.models.detectors.two_stage.test_two_stage_detector import SIZES, inputs, truth

from holdfast.config.schema.anchor_generator import AnchorGenerator
from holdfast.config.text.decode import decode
from holdfast.geometry.chance import image_seeds
from holdfast.models.detectors.build_detector import build_detector
from holdfast.models.detectors.region_chunks import split_regions
from holdfast.models.layers.randomness import looking_at
from holdfast.training.session import rematerialize

SIDE = 64
FPN = "faster_rcnn_resnet50_fpn_keras"
ANCHORS = """multiscale_anchor_generator {
  min_level: 2 max_level: 6 aspect_ratios: 1.0 aspect_ratios: 2.0 scales_per_octave: 1
  normalize_coordinates: false }"""


def built(name: str, extractor: str = "faster_rcnn_inception_v2", anchors: str = ""):
    config = small_stages(name, SIDE, SIDE, extractor)
    if anchors:
        generator = decode(anchors, AnchorGenerator).message
        stages = config.model.faster_rcnn.replace(first_stage_anchor_generator=generator)
        config = config.replace(model=config.model.replace(faster_rcnn=stages))
    return build_detector(config, freeze_batch_norm=True)


def step_of(detector):
    """Give losses and gradients of a step in a graph, as a training takes it."""
    variables = [each.value for each in detector.trainable_variables]

    @tf.function
    def step():
        given = truth("bits")
        with looking_at(image_seeds(0, [3, 4])), tf.GradientTape() as tape:
            predictions = detector(inputs(), sizes=SIZES, truth=given, training=True)
            targets = detector.targets(given, SIZES, predictions)
            terms = detector.loss_terms(predictions, targets)
            total = tf.add_n(list(terms.values()))
        return terms, tape.gradient(total, variables, unconnected_gradients="zero")

    return step()


def assert_alike(expected, actual) -> None:
    for name, value in expected[0].items():
        np.testing.assert_allclose(actual[0][name], value, rtol=1e-5, err_msg=name)
    for one, other in zip(expected[1], actual[1], strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-5 * np.abs(one).max())


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("blocks", [(), ("all",)], ids=("kept", "rematerialized"))
@pytest.mark.parametrize("count", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_losses_and_gradients_stay(count, blocks):
    detector = built("mask_rcnn")  # its box head drops features: chunks drop the same
    expected = step_of(detector)
    split_regions(detector, count)
    rematerialize(detector, blocks)
    assert_alike(expected, step_of(detector))
    assert expected[0]["Loss/BoxClassifierLoss/mask_loss"] > 0.0


@pytest.mark.usefixtures("tiny")
def test_detections_and_masks_stay():
    detector = built("mask_rcnn")
    expected = detector.detections(detector(inputs(), sizes=SIZES), SIZES)
    split_regions(detector, 5)
    found = detector.detections(detector(inputs(), sizes=SIZES), SIZES)
    for one, other in zip(expected, found, strict=True):
        if one is not None:
            np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-6)
    assert found.masks is not None
    assert np.max(found.count) > 0


@pytest.mark.slow
def test_regions_of_a_pyramid_stay():
    detector = built("faster_rcnn", FPN, ANCHORS)
    expected = step_of(detector)
    split_regions(detector, 3)
    assert_alike(expected, step_of(detector))
