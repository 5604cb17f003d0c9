from __future__ import annotations

import keras
import numpy as np
import pytest

from holdfast.errors import HoldfastError
from holdfast.models.layers.convolution import LayerSettings
from holdfast.models.layers.separable import Separable, full_or_separable, plain

LINEAR = LayerSettings(activation=None, batch_norm=None, l2=0.5)
INPUTS = np.random.default_rng(0).normal(size=(2, 8, 7, 3)).astype(np.float32)


@pytest.mark.parametrize("strides", [1, 2])
def test_it_equals_the_separable_convolution_of_keras(strides: int):
    ours = Separable(5, 3, settings=LINEAR, strides=strides, bias_initializer="ones")
    theirs = keras.layers.SeparableConv2D(5, 3, strides=strides, padding="same")
    ours(INPUTS), theirs(INPUTS)
    theirs.set_weights(ours.get_weights())
    np.testing.assert_allclose(ours(INPUTS), theirs(INPUTS), atol=1e-6)


def test_a_plain_kernel_has_the_initializer_and_the_penalty_of_keras():
    settings = plain(LINEAR)
    assert settings.regularizer() is None
    assert isinstance(settings.initializer(), keras.initializers.GlorotUniform)
    assert settings.activation == LINEAR.activation


@pytest.mark.parametrize(
    ("keywords", "penalized"),
    [({}, 2), ({"plain_depthwise": True}, 1), ({"plain_pointwise": True}, 1)],
)
def test_each_half_can_be_plain(keywords: dict[str, bool], penalized: int):
    layer = Separable(5, 3, settings=LINEAR, **keywords)
    layer(INPUTS)
    assert len(layer.losses) == penalized


def test_a_depthwise_convolution_of_one_cell_is_refused():
    with pytest.raises(HoldfastError, match="kernel_size 1"):
        full_or_separable(5, 1, use_depthwise=True, settings=LINEAR)
    full_or_separable(5, 1, use_depthwise=False, settings=LINEAR)
