from __future__ import annotations

import keras
import numpy as np
import pytest

from holdfast.models.backbones.mobilenet_v2 import mobilenet_v2
from holdfast.models.layers.batch_norm import BatchNormSettings
from holdfast.models.layers.convolution import LayerSettings

from .reference import (
    activations,
    assert_explicit_padding_mirrors_same_padding,
    assert_features_are_as_declared,
    assert_regularized,
    below,
    built,
    channels,
    checkpoint_shapes,
    copy_from_keras,
    golden_shapes,
    images,
    kernels,
    norms,
    numbered,
    tf1_shapes,
    tf2_shapes,
)

SSD = ["layer_15/expansion_output", "layer_19"]
FPN = ["layer_4", "layer_7", "layer_14", "layer_19"]
SOME = ["layer_1", *FPN[:3], *SSD]
NARROW = {"depth_multiplier": 0.25, "min_depth": 8}


@pytest.mark.parametrize(
    ("golden", "endpoints"),
    [
        ("ssd_mobilenet_v2_320x320_coco17_tpu-8", SSD),
        ("ssd_mobilenet_v2_fpnlite_320x320_coco17_tpu-8", FPN),
    ],
)
def test_layers_are_those_of_a_tf2_model_in_the_order_of_its_checkpoint(shared, golden, endpoints):
    expected = numbered(golden_shapes(shared / "goldens" / golden))
    assert tf2_shapes(built(mobilenet_v2(endpoints))) == expected


def test_variables_are_those_of_a_tf1_model(shared):
    golden = golden_shapes(shared / "goldens" / "ssd_mobilenet_v2_coco")
    backbone = built(mobilenet_v2(SSD, generation="tf1"))
    assert tf1_shapes(backbone) == below(golden, "FeatureExtractor/MobilenetV2/")


def test_variables_are_those_of_a_tf1_checkpoint(corpus):
    shapes = checkpoint_shapes(corpus / "checkpoint_indexes" / "checkpoint03")
    backbone = built(mobilenet_v2(SSD, generation="tf1"))
    assert tf1_shapes(backbone) == below(shapes, "FeatureExtractor/MobilenetV2/")


@pytest.mark.parametrize("size", [(64, 96), (65, 97), (50, 66)])
def test_features_equal_those_of_keras(size):
    network = keras.applications.MobileNetV2(
        input_shape=(*size, 3), alpha=0.35, include_top=False, weights=None
    )
    endpoints, names = ["layer_1", "layer_2"], ["Conv1_relu", "expanded_conv_project_BN"]
    known = [layer.name for layer in network.layers]
    for index in range(1, 17):
        end = f"block_{index}_add"
        endpoints += [f"layer_{index + 2}/expansion_output", f"layer_{index + 2}"]
        names += [
            f"block_{index}_expand_relu",
            end if end in known else f"block_{index}_project_BN",
        ]
    backbone = built(mobilenet_v2(endpoints, depth_multiplier=0.35, min_depth=0))
    copy_from_keras(network, backbone)
    reference = keras.Model(network.input, [network.get_layer(name).output for name in names])
    image = images(*size)
    for ours, theirs in zip(backbone(image), reference(image), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4 * np.ptp(theirs))


def test_explicit_padding_mirrors_same_padding():
    assert_explicit_padding_mirrors_same_padding(
        mobilenet_v2(SSD, **NARROW), mobilenet_v2(SSD, **NARROW, explicit_padding=True)
    )


@pytest.mark.parametrize("explicit_padding", [False, True])
def test_features_are_as_declared(explicit_padding):
    backbone = mobilenet_v2(SOME, **NARROW, explicit_padding=explicit_padding)
    assert_features_are_as_declared(backbone)
    assert [feature.stride for feature in backbone.features] == [2, 4, 8, 16, 16, 32]


# What the OD API builds, read off its networks.
@pytest.mark.parametrize(
    ("generation", "multiplier", "minimum", "expected"),
    [
        ("tf1", 1.0, 16, [32, 24, 32, 96, 576, 1280]),
        ("tf1", 0.25, 0, [8, 8, 8, 24, 144, 320]),
        ("tf1", 0.56, 20, [20, 20, 20, 56, 336, 720]),
        ("tf1", 0.56, 16, [24, 16, 24, 56, 336, 720]),
        ("tf1", 1.4, 16, [48, 32, 48, 136, 816, 1792]),
        ("tf2", 1.0, 16, [32, 24, 32, 96, 576, 1280]),
        ("tf2", 0.25, 0, [8, 8, 8, 24, 144, 320]),
        ("tf2", 0.56, 20, [24, 20, 20, 56, 336, 720]),
        ("tf2", 0.56, 16, [24, 16, 16, 56, 336, 720]),
        ("tf2", 1.4, 16, [48, 32, 48, 136, 816, 1280]),
    ],
)
def test_channels_are_those_of_the_od_api(generation, multiplier, minimum, expected):
    backbone = mobilenet_v2(
        SOME, generation=generation, depth_multiplier=multiplier, min_depth=minimum
    )
    assert channels(backbone) == expected


@pytest.mark.parametrize(
    ("generation", "minimum", "expected"),
    [("tf1", 0, 11), ("tf1", 20, 11), ("tf2", 0, 11), ("tf2", 16, 7), ("tf2", 20, 4)],
)
def test_in_tf2_a_unit_that_the_minimum_widens_is_not_residual(generation, minimum, expected):
    backbone = mobilenet_v2(SSD, generation=generation, depth_multiplier=0.25, min_depth=minimum)
    assert sum(unit.is_residual for unit in backbone.blocks[1:-1]) == expected


def test_the_last_layer_of_the_tf1_pyramid_can_be_narrow():
    keywords = {"generation": "tf1", "depth_multiplier": 0.5, "last_channels": 256}
    assert channels(mobilenet_v2(["layer_18", "layer_19"], **keywords)) == [160, 128]


@pytest.mark.parametrize("generation", ["tf1", "tf2"])
def test_by_default_only_tf2_regularizes_depthwise_kernels(generation):
    backbone = built(mobilenet_v2(SSD, generation=generation, **NARROW))
    regularized = kernels(backbone, depthwise=False)
    if generation == "tf2":
        regularized += kernels(backbone, depthwise=True)
    assert_regularized(backbone, 4e-5, regularized)
    assert norms(backbone) == {BatchNormSettings(momentum=0.9997, epsilon=1e-3)}


def test_a_config_decides_everything_but_the_shape_in_tf2():
    norm = BatchNormSettings(momentum=0.9, epsilon=0.1, center=False, scale=False)
    settings = LayerSettings(activation="relu", batch_norm=norm, l2=0.1)
    backbone = built(mobilenet_v2(SSD, settings=settings, **NARROW))
    assert norms(backbone) == {norm}
    assert activations(backbone) == {"relu", "linear"}
    assert {variable.name for variable in backbone.trainable_variables} == {"kernel"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (BatchNormSettings(momentum=0.9, epsilon=0.1, center=False, scale=False), (0.9, 0.1)),
        (None, (0.9997, 1e-3)),
    ],
)
def test_in_tf1_a_config_decides_neither_activation_nor_whether_there_is_batch_norm(
    given, expected
):
    settings = LayerSettings(activation="relu", batch_norm=given, l2=0.1)
    backbone = built(mobilenet_v2(SSD, settings=settings, generation="tf1", **NARROW))
    momentum, epsilon = expected
    assert norms(backbone) == {BatchNormSettings(momentum=momentum, epsilon=epsilon)}
    assert activations(backbone) == {"relu6", "linear"}
    both = kernels(backbone, depthwise=False) + kernels(backbone, depthwise=True)
    assert_regularized(backbone, 0.1, both)
