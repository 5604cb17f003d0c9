from __future__ import annotations

from dataclasses import replace

import keras
import numpy as np
import pytest

from holdfast.models.backbones.inception_v2 import (
    FIRST,
    InceptionBranch,
    SeparableStem,
    Step,
    default_settings,
    inception_v2,
)
from holdfast.models.layers.batch_norm import BatchNormSettings

from .reference import (
    assert_features_are_as_declared,
    assert_regularized,
    below,
    built,
    channels,
    checkpoint_shapes,
    golden_shapes,
    norms,
    tf1_shapes,
)

SSD = ["Mixed_4c", "Mixed_5c"]
SOME = ["Conv2d_1a_7x7", "Mixed_3c", "Mixed_4c", "Mixed_4e", "Mixed_5c"]
NARROW = {"depth_multiplier": 0.125, "min_depth": 4}
NORM = BatchNormSettings(momentum=0.9, epsilon=0.1)
SETTINGS = replace(default_settings(), batch_norm=NORM)
PLAIN = replace(default_settings(), batch_norm=None, activation=None)


@pytest.fixture(scope="module")
def backbone():
    return built(inception_v2(SSD, settings=SETTINGS))


def test_variables_are_those_of_a_tf1_model(shared, backbone):
    golden = golden_shapes(shared / "goldens" / "ssd_inception_v2_coco")
    assert tf1_shapes(backbone) == below(golden, "FeatureExtractor/InceptionV2/")


def test_variables_are_those_of_a_tf1_checkpoint(corpus, backbone):
    shapes = checkpoint_shapes(corpus / "checkpoint_indexes" / "checkpoint48")
    assert tf1_shapes(backbone) == below(shapes, "FeatureExtractor/InceptionV2/")


def test_the_initializers_that_the_network_fixes_win_over_the_settings(backbone):
    deviations = {
        "Conv2d_2b_1x1": 0.1,
        "Mixed_3b/Branch_1/Conv2d_0a_1x1": 0.09,
        "Mixed_3b/Branch_3/Conv2d_0b_1x1": 0.1,
        "Mixed_4a/Branch_0/Conv2d_0a_1x1": 0.09,
    }
    by_path = {variable.path: variable.numpy() for variable in backbone.variables}
    for path, stddev in deviations.items():
        # A normal distribution cut off at two deviations keeps 0.88 of its deviation.
        kernel = by_path[f"backbone/{path}/convolution/kernel"]
        assert np.std(kernel) == pytest.approx(0.88 * stddev, rel=0.1)
    stem = by_path["backbone/Conv2d_1a_7x7/convolution/pointwise_kernel"]
    assert np.std(stem) == pytest.approx(0.88, rel=0.1)


def test_all_kernels_are_regularized(backbone):
    regularized = [each for each in backbone.variables if "kernel" in each.name]
    assert_regularized(backbone, 4e-5, regularized)
    assert norms(backbone) == {NORM}


def test_without_batch_norm_every_convolution_has_a_bias():
    network = built(inception_v2(SSD, settings=replace(SETTINGS, batch_norm=None), **NARROW))
    names = [variable.name for variable in network.variables]
    assert names.count("bias") == names.count("kernel") + 1  # the stem has two kernels


def test_features_are_as_declared():
    network = inception_v2(SOME, **NARROW)
    assert_features_are_as_declared(network)
    assert [feature.stride for feature in network.features] == [2, 8, 16, 16, 32]


# What the OD API builds, read off its networks.
@pytest.mark.parametrize(
    ("multiplier", "minimum", "expected"),
    [
        (1.0, 16, [64, 320, 576, 576, 1024]),
        (0.25, 20, [20, 88, 144, 144, 256]),
        (0.35, 0, [22, 110, 199, 200, 357]),
        (1.4, 16, [89, 446, 805, 804, 1432]),
    ],
)
def test_channels_are_those_of_the_od_api(multiplier, minimum, expected):
    network = inception_v2(SOME, depth_multiplier=multiplier, min_depth=minimum)
    assert channels(network) == expected


def test_the_stem_has_no_more_depthwise_than_output_channels():
    for width, expected in [(64, 8), (20, 6), (4, 1)]:
        stem = SeparableStem(Step("Conv2d_1a_7x7", width, strides=2), settings=PLAIN)
        stem(keras.KerasTensor((1, 32, 32, 3)))
        assert stem.convolution.depthwise_kernel.shape == (7, 7, 3, expected)


def test_the_stem_filters_each_color_then_mixes_them():
    stem = SeparableStem(FIRST._replace(channels=7), settings=PLAIN)
    image = np.random.default_rng(0).normal(size=(1, 9, 9, 3)).astype("float32")
    outputs = np.array(stem(image))
    depthwise, pointwise = (kernel.numpy() for kernel in stem.variables[:2])
    # The center of 9x9 cells of stride 2 sees all of its 7x7 neighbors.
    window = image[0, 1:8, 1:8]
    filtered = np.einsum("yxc,yxcm->cm", window, depthwise).reshape(-1)
    np.testing.assert_allclose(outputs[0, 2, 2], filtered @ pointwise[0, 0], rtol=1e-4)


def test_pools_do_not_see_the_padding():
    constant = np.full((1, 5, 6, 2), -3.0, "float32")
    for pool in ("AvgPool_0a_3x3", "MaxPool_0a_3x3"):
        branch = InceptionBranch([Step(pool)], settings=PLAIN)
        np.testing.assert_allclose(branch(constant), constant)
