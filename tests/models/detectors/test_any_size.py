"""A detector of each neck learns at any input size."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tests.models.detectors.small_configs import NAMES, small_config

from holdfast.config.feature_maps import feature_maps
from holdfast.config.input_sizes import input_shape
from holdfast.data.sample import GroundTruth
from holdfast.models.detectors.build import build_detector

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
    # What is learnt reaches the first kernel of the backbone, through all levels of the neck.
    first = next(gradient for path, gradient in by_path.items() if path.endswith("/kernel"))
    assert np.abs(first).max() > 0
