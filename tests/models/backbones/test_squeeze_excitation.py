from __future__ import annotations

import numpy as np

from holdfast.models.backbones.squeeze_excitation import SqueezeExcitation
from holdfast.models.layers.convolution import LayerSettings


def layer_with_random_weights(random):
    layer = SqueezeExcitation(6, squeezed=4, settings=LayerSettings(activation="hard_silu"))
    layer(np.zeros((1, 5, 3, 6), "float32"))
    for variable in layer.variables:
        variable.assign(random.normal(size=variable.shape))
    return layer


def test_channels_are_gated_by_what_their_means_say():
    random = np.random.default_rng(0)
    layer = layer_with_random_weights(random)
    inputs = random.normal(size=(2, 5, 3, 6)).astype("float32")
    squeeze, squeeze_bias, excite, excite_bias = (each.numpy() for each in layer.variables)
    means = inputs.mean(axis=(1, 2))
    squeezed = np.maximum(means @ squeeze[0, 0] + squeeze_bias, 0.0)
    excitation = squeezed @ excite[0, 0] + excite_bias
    gates = np.clip(excitation + 3.0, 0.0, 6.0) * 0.16667
    np.testing.assert_allclose(layer(inputs), inputs * gates[:, None, None], atol=1e-5)


def test_the_gate_of_a_channel_is_the_same_everywhere_in_the_image():
    random = np.random.default_rng(1)
    layer = layer_with_random_weights(random)
    inputs = random.uniform(1.0, 2.0, (1, 5, 3, 6)).astype("float32")
    gates = np.array(layer(inputs)) / inputs
    np.testing.assert_allclose(gates, np.broadcast_to(gates[:, :1, :1], gates.shape), rtol=1e-5)
