from __future__ import annotations

import keras
import numpy as np
import pytest

from holdfast.errors import HoldfastError
from holdfast.models.backbones.backbone_spec import BACKBONES
from holdfast.models.backbones.mobilenet_v3 import mobilenet_v3
from holdfast.models.layers.batch_norm import BatchNormSettings
from holdfast.models.layers.convolution import LayerSettings

from .reference import (
    activations,
    assert_features_are_as_declared,
    assert_regularized,
    below,
    built,
    channels,
    checkpoint_shapes,
    copy_from_keras,
    images,
    kernels,
    norms,
    tf1_shapes,
)

SSD = {
    "large": ["layer_14/expansion_output", "layer_17"],
    "small": ["layer_10/expansion_output", "layer_13"],
}
SOME = {
    "large": ["layer_1", "layer_7", "layer_13", *SSD["large"]],
    "small": ["layer_1", "layer_4", "layer_9", *SSD["small"]],
}
NARROW = {"depth_multiplier": 0.25, "min_depth": 8}


def test_variables_are_those_of_a_tf1_checkpoint(corpus):
    shapes = checkpoint_shapes(corpus / "checkpoint_indexes" / "checkpoint18")
    backbone = built(BACKBONES["mobilenet_v3_large"].factory(SSD["large"]))
    assert tf1_shapes(backbone) == below(shapes, "FeatureExtractor/MobilenetV3/")


@pytest.mark.parametrize(
    ("version", "network", "end"),
    [
        ("large", keras.applications.MobileNetV3Large, "expanded_conv_11_add"),
        ("small", keras.applications.MobileNetV3Small, "expanded_conv_7_add"),
    ],
)
def test_features_equal_those_of_keras_up_to_the_narrower_end(version, network, end):
    size = (64, 98)
    network = network(
        input_shape=(*size, 3), include_top=False, weights=None, include_preprocessing=False
    )
    inner, _ = SSD[version]
    outer = {"large": "layer_13", "small": "layer_9"}[version]
    backbone = built(mobilenet_v3([outer, inner], version=version))
    copy_from_keras(network, backbone)
    index = int(end.split("_")[2]) + 1
    expansion = keras.Model(
        network.input, network.get_layer(f"expanded_conv_{index}_expand_bn").output
    )
    reference = keras.Model(network.input, network.get_layer(end).output)
    image = images(*size)
    outputs, expanded = backbone(image)
    before = np.array(expansion(image))
    expected = before * np.clip(before + 3.0, 0.0, 6.0) / 6.0
    # The gates of the OD API's squeeze and excitation are 2e-5 larger than Keras' in proportion.
    np.testing.assert_allclose(outputs, reference(image), atol=1e-3 * np.ptp(outputs))
    np.testing.assert_allclose(expanded, expected, atol=1e-3 * np.ptp(expected))


@pytest.mark.parametrize("version", ["large", "small"])
def test_features_are_as_declared(version):
    backbone = mobilenet_v3(SOME[version], version=version, **NARROW)
    assert_features_are_as_declared(backbone)
    assert [feature.stride for feature in backbone.features] == [2, 8, 16, 16, 32]


# What the OD API builds, read off its networks.
@pytest.mark.parametrize(
    ("version", "multiplier", "minimum", "expected"),
    [
        ("large", 1.0, 16, [16, 40, 112, 672, 480]),
        ("large", 0.25, 0, [8, 16, 32, 192, 120]),
        ("large", 0.35, 20, [20, 20, 40, 240, 168]),
        ("large", 1.4, 16, [24, 56, 160, 960, 672]),
        ("small", 1.0, 16, [16, 24, 48, 288, 288]),
        ("small", 0.25, 0, [8, 8, 16, 96, 72]),
        ("small", 0.35, 20, [20, 20, 20, 120, 104]),
        ("small", 1.4, 16, [24, 32, 64, 384, 400]),
    ],
)
def test_channels_are_those_of_the_od_api(version, multiplier, minimum, expected):
    backbone = mobilenet_v3(
        SOME[version], version=version, depth_multiplier=multiplier, min_depth=minimum
    )
    assert channels(backbone) == expected


def test_by_default_depthwise_kernels_are_not_regularized():
    backbone = built(mobilenet_v3(SSD["small"], version="small", **NARROW))
    assert_regularized(backbone, 4e-5, kernels(backbone, depthwise=False))
    assert norms(backbone) == {BatchNormSettings(momentum=0.9997, epsilon=1e-3)}


def test_a_config_decides_neither_activation_nor_whether_there_is_batch_norm():
    given = BatchNormSettings(momentum=0.9, epsilon=0.1, center=False, scale=False)
    settings = LayerSettings(activation="relu6", batch_norm=given, l2=0.1)
    backbone = built(mobilenet_v3(SSD["small"], version="small", settings=settings, **NARROW))
    assert norms(backbone) == {BatchNormSettings(momentum=0.9, epsilon=0.1)}
    assert activations(backbone) == {"relu", "hard_silu", "linear"}
    both = kernels(backbone, depthwise=False) + kernels(backbone, depthwise=True)
    assert_regularized(backbone, 0.1, both)


def test_explicit_padding_is_refused():
    with pytest.raises(HoldfastError, match="Remove use_explicit_padding"):
        mobilenet_v3(SSD["large"], explicit_padding=True)
