from __future__ import annotations

import numpy as np

from holdfast.models.layers.batch_norm import BatchNormSettings
from holdfast.models.layers.convolution import LayerSettings
from holdfast.models.layers.fully_connected import FullyConnected


def vectors() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(5, 3)).astype("float32")


def test_activation_comes_before_normalization():
    settings = LayerSettings(batch_norm=BatchNormSettings(epsilon=1e-3))
    layer = FullyConnected(4, settings=settings, activation="relu")
    outputs = layer(vectors(), training=True)
    active = np.maximum(vectors() @ layer.dense.kernel.numpy(), 0.0)
    expected = (active - active.mean(axis=0)) / np.sqrt(active.var(axis=0) + 1e-3)
    np.testing.assert_allclose(outputs, expected, atol=1e-5)


def test_moving_variance_can_follow_the_uncorrected_variance():
    for is_unbiased in (True, False):
        norm = BatchNormSettings(momentum=0.0, is_unbiased=is_unbiased)
        layer = FullyConnected(4, settings=LayerSettings(batch_norm=norm))
        layer(vectors(), training=True)
        values = vectors() @ layer.dense.kernel.numpy()
        variance = values.var(axis=0, ddof=int(is_unbiased))
        np.testing.assert_allclose(layer.batch_norm.moving_variance, variance, rtol=1e-4)


def test_without_normalization_there_is_a_bias_and_nothing_else():
    layer = FullyConnected(4, settings=LayerSettings(batch_norm=None))
    layer(vectors())
    assert [variable.name for variable in layer.weights] == ["kernel", "bias"]
