from __future__ import annotations

from dataclasses import replace

import keras
import numpy as np
import pytest

from holdfast.models.backbones.mobilenet_v1 import default_settings, mobilenet_v1
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
    norms,
    numbered,
    tf1_shapes,
    tf2_shapes,
)

LAST = ["Conv2d_13_pointwise"]
FPN = ["Conv2d_3_pointwise", "Conv2d_5_pointwise", "Conv2d_11_pointwise", "Conv2d_13_pointwise"]
ALL = ["Conv2d_0", *(f"Conv2d_{index}_pointwise" for index in range(1, 14))]
NARROW = {"depth_multiplier": 0.25, "min_depth": 8}


def test_layers_are_those_of_a_tf2_model_in_the_order_of_its_checkpoint(shared):
    golden = shared / "goldens" / "ssd_mobilenet_v1_fpn_640x640_coco17_tpu-8"
    assert tf2_shapes(built(mobilenet_v1(FPN))) == numbered(golden_shapes(golden))


@pytest.mark.parametrize("checkpoint", ["checkpoint28", "checkpoint40"])
def test_variables_are_those_of_a_tf1_checkpoint(corpus, checkpoint):
    shapes = checkpoint_shapes(corpus / "checkpoint_indexes" / checkpoint)
    backbone = built(mobilenet_v1(LAST, generation="tf1"))
    assert tf1_shapes(backbone) == below(shapes, "FeatureExtractor/MobilenetV1/")


def test_features_equal_those_of_keras():
    network = keras.applications.MobileNet(
        input_shape=(64, 96, 3), alpha=0.25, include_top=False, weights=None
    )
    backbone = built(mobilenet_v1(ALL, generation="tf1", depth_multiplier=0.25, min_depth=0))
    copy_from_keras(network, backbone)
    names = ["conv1_relu", *(f"conv_pw_{index}_relu" for index in range(1, 14))]
    reference = keras.Model(network.input, [network.get_layer(name).output for name in names])
    image = images(64, 96)
    for ours, theirs in zip(backbone(image), reference(image), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_explicit_padding_mirrors_same_padding():
    assert_explicit_padding_mirrors_same_padding(
        mobilenet_v1(LAST, **NARROW), mobilenet_v1(LAST, **NARROW, explicit_padding=True)
    )


@pytest.mark.parametrize("explicit_padding", [False, True])
def test_features_are_as_declared(explicit_padding):
    backbone = mobilenet_v1(ALL, **NARROW, explicit_padding=explicit_padding)
    assert_features_are_as_declared(backbone)
    assert [feature.stride for feature in backbone.features] == [
        2,
        2,
        4,
        4,
        8,
        8,
        *[16] * 6,
        32,
        32,
    ]


# What the OD API builds, read off its networks.
@pytest.mark.parametrize(
    ("generation", "multiplier", "minimum", "expected"),
    [
        ("tf1", 1.0, 16, [32, 128, 256, 512, 1024]),
        ("tf1", 0.35, 0, [11, 44, 89, 179, 358]),
        ("tf1", 0.25, 20, [20, 32, 64, 128, 256]),
        ("tf1", 1.4, 16, [44, 179, 358, 716, 1433]),
        ("tf2", 1.0, 16, [32, 128, 256, 512, 1024]),
        ("tf2", 0.35, 0, [3, 15, 31, 62, 125]),
        ("tf2", 0.25, 20, [20, 20, 20, 32, 64]),
        ("tf2", 1.4, 16, [61, 250, 501, 1002, 2006]),
    ],
)
def test_channels_are_those_of_the_od_api(generation, multiplier, minimum, expected):
    backbone = mobilenet_v1(
        ["Conv2d_0", *FPN],
        generation=generation,
        depth_multiplier=multiplier,
        min_depth=minimum,
    )
    assert channels(backbone) == expected


@pytest.mark.parametrize(
    ("generation", "multiplier", "expected"),
    [("tf1", 0.5, [256, 256, 128]), ("tf2", 0.5, [128, 256, 128]), ("tf2", 1.0, [512, 512, 256])],
)
def test_given_last_channels_are_multiplied_once(generation, multiplier, expected):
    backbone = mobilenet_v1(
        ALL[-3:], generation=generation, depth_multiplier=multiplier, last_channels=(512, 256)
    )
    assert channels(backbone) == expected


@pytest.mark.parametrize("generation", ["tf1", "tf2"])
def test_by_default_all_kernels_are_regularized(generation):
    backbone = built(mobilenet_v1(LAST, generation=generation, **NARROW))
    kernels = [variable for variable in backbone.variables if variable.name == "kernel"]
    assert_regularized(backbone, 4e-5, kernels)
    assert norms(backbone) == {BatchNormSettings(momentum=0.9997, epsilon=1e-3)}


@pytest.mark.parametrize(("generation", "has_bias"), [("tf1", True), ("tf2", False)])
def test_only_in_tf1_does_a_bias_take_the_place_of_a_missing_batch_norm(generation, has_bias):
    settings = replace(default_settings(), batch_norm=None)
    backbone = built(mobilenet_v1(LAST, settings=settings, generation=generation, **NARROW))
    assert {variable.name for variable in backbone.variables} == (
        {"kernel", "bias"} if has_bias else {"kernel"}
    )


def test_a_config_decides_everything_but_the_shape():
    norm = BatchNormSettings(momentum=0.9, epsilon=0.1, center=False, scale=False)
    settings = LayerSettings(activation="relu", batch_norm=norm, l1=0.1)
    for generation in ("tf1", "tf2"):
        backbone = built(mobilenet_v1(LAST, settings=settings, generation=generation, **NARROW))
        assert norms(backbone) == {norm}
        assert activations(backbone) == {"relu"}
        assert {variable.name for variable in backbone.trainable_variables} == {"kernel"}
