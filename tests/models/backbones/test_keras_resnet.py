"""ResNets of keras.applications: the same numbers from the same weights."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from holdfast.models.backbones.keras_order import keras_order
from holdfast.models.backbones.keras_resnet import (
    keras_resnet_basic,
    keras_resnet_v1,
    keras_resnet_v2,
)

BLOCKS = ("block1", "block2", "block3", "block4")
OUTPUTS = ("conv2_block3_out", "conv3_block4_out", "conv4_block6_out", "conv5_block3_out")


def layers_of(model: keras.Model) -> list[keras.layers.Layer]:
    """List layers with weights as Keras 2 counted them: the order of `layer_with_weights-N`."""
    return [layer for layer in model.layers if layer.weights]


def filled(backbone, reference: keras.Model) -> None:
    random = np.random.default_rng(0)
    backbone(keras.KerasTensor((1, 64, 64, 3), "float32"))
    own = {kind: [] for kind in ("Conv2D", "norm")}
    for layer in keras_order(backbone):
        own["Conv2D" if isinstance(layer, keras.layers.Conv2D) else "norm"].append(layer)
    theirs = {kind: [] for kind in own}
    for layer in layers_of(reference):
        theirs["Conv2D" if isinstance(layer, keras.layers.Conv2D) else "norm"].append(layer)
    for kind, layers in own.items():
        for layer, other in zip(layers, theirs[kind], strict=True):
            for variable, same in zip(layer.weights, other.weights, strict=True):
                noise = random.normal(0, 1, tuple(variable.shape))
                scale = np.sqrt(2 / max(np.prod(variable.shape[:-1]), 1)) if noise.ndim > 1 else 0.1
                is_positive = any(word in variable.name for word in ("gamma", "variance"))
                value = 1 + 0.1 * np.abs(noise) if is_positive else scale * noise
                variable.assign(value)
                same.assign(value)


@pytest.mark.slow
@pytest.mark.parametrize("version", [1, 2])
def test_it_is_the_network_of_keras(version):
    if version == 1:
        reference = keras.applications.ResNet50(weights=None, include_top=False)
        backbone = keras_resnet_v1(BLOCKS, depth=50)
    else:
        reference = keras.applications.ResNet50V2(weights=None, include_top=False)
        backbone = keras_resnet_v2(BLOCKS, depth=50)
    filled(backbone, reference)
    images = np.random.default_rng(1).normal(0, 1, (1, 64, 96, 3)).astype(np.float32)
    outputs = [reference.get_layer(name).output for name in OUTPUTS]
    expected = keras.Model(reference.input, outputs)(images)
    for found, wanted in zip(backbone(images), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-4 * np.abs(wanted).max())


@pytest.mark.parametrize("depth", [18, 34])
def test_the_small_ones_give_four_levels(depth):
    backbone = keras_resnet_basic(BLOCKS, depth=depth)
    features = backbone(keras.KerasTensor((1, 64, 96, 3), "float32"))
    assert [tuple(each.shape[1:]) for each in features] == [
        (16, 24, 64),
        (8, 12, 128),
        (4, 6, 256),
        (2, 3, 512),
    ]
    kinds = [type(layer).__name__ for layer in keras_order(backbone)]
    # The stem; of each unit two convolutions and three norms, in the first of a block one more.
    units = {18: 8, 34: 16}[depth]
    assert kinds.count("Conv2D") == 1 + 2 * units + 4
    assert kinds.count("FusedBatchNorm") == 3 * units + 1
    assert len(backbone.idle_blocks) == 1
