"""A detector of each neck learns at any input size."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tests.models.detectors.small_configs import NAMES, small_config

from holdfast.config.facts.feature_maps import feature_maps
from holdfast.config.facts.input_sizes import input_shape
from holdfast.data.sample import GroundTruth
from holdfast.models.detectors.build_detector import build_detector

# Odd sides halve to odd sides: what comes down a pyramid is a cell too large everywhere.
SIZES = [(129, 155), pytest.param(257, 311, marks=pytest.mark.slow)]
TRUTH = GroundTruth(
    boxes=tf.constant([[[0.1, 0.2, 0.6, 0.7], [0.0, 0.0, 0.0, 0.0]]] * 2),
    classes=tf.constant([[1, 0]] * 2),
    weights=tf.constant([[1.0, 0.0]] * 2),
)


@pytest.mark.parametrize(("height", "width"), SIZES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_an_odd_size_has_targets_and_gradients(name, height, width):
    config = small_config(name, height, width)
    detector = build_detector(config)
    images = np.random.default_rng(0).integers(0, 256, (2, 40, 60, 3), np.uint8)
    inputs, sizes = detector.preprocess(images)
    assert inputs.shape == (2, height, width, 3)

    @tf.function(autograph=False)
    def step():
        with tf.GradientTape() as tape:
            predictions = detector(inputs, sizes=sizes, training=True)
            targets = detector.targets(TRUTH, sizes, predictions)
            loss = sum(detector.loss_terms(predictions, targets).values())
        values = [variable.value for variable in detector.trainable_variables]
        return predictions, targets, loss, tape.gradient(loss, values)

    predictions, targets, loss, gradients = step()
    maps = feature_maps(config.model, input_shape(config.model))
    assert [tuple(each.shape[1:3]) for each in predictions.feature_maps] == [
        (each.height, each.width) for each in maps
    ]
    assert np.asarray(targets.matches.state == 1).sum(axis=1).min() > 0
    assert np.isfinite(loss)
    by_path = {
        variable.path: gradient
        for variable, gradient in zip(detector.trainable_variables, gradients, strict=True)
        if gradient is not None  # EfficientNet's idle end
    }
    for path, gradient in by_path.items():
        assert np.isfinite(gradient).all(), path
    # What is learned reaches the first kernel of the backbone, through all levels of the neck.
    first = next(gradient for path, gradient in by_path.items() if path.endswith("/kernel"))
    assert np.abs(first).max() > 0


@pytest.mark.parametrize("name", NAMES)
def test_a_size_unknown_until_the_network_runs_changes_nothing(name):
    detector = build_detector(small_config(name, 129, 155))
    inputs, sizes = detector.preprocess(
        np.random.default_rng(0).integers(0, 256, (2, 40, 60, 3), np.uint8)
    )

    def step(inputs):
        prepared = detector.prepare(TRUTH, sizes, tf.unstack(tf.shape(inputs)[1:3]))
        predictions = detector(inputs, sizes=sizes, prepared=prepared)
        terms = detector.terms(predictions, prepared, detector.normalizers(prepared))
        return predictions.anchors, terms, detector.detections(predictions, sizes)

    unknown = tf.TensorSpec((2, None, None, 3))
    anchors, terms, detections = tf.function(step, input_signature=[unknown])(inputs)
    predictions = detector(inputs, sizes=sizes)
    np.testing.assert_array_equal(anchors, detector.anchors(129, 155))
    expected = detector.loss_terms(predictions, detector.targets(TRUTH, sizes, predictions))
    for term, value in terms.items():
        assert float(value) == pytest.approx(float(expected[term]), rel=1e-5), term
    for one, other in zip(detections[:4], detector.detections(predictions, sizes)[:4], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
