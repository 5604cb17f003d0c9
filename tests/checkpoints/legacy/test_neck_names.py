"""Names that no reference file has are those of networks built by the OD API with such a config."""

import keras
import pytest

from holdfast.checkpoints.legacy import neck_names
from holdfast.models.features import Feature
from holdfast.models.layers.convolution import LayerSettings
from holdfast.models.necks.fpn import Fpn
from holdfast.models.necks.ssd_layers import SsdLayers

FEATURES = (Feature(8, 4), Feature(16, 6))


def built(neck):
    neck(
        [keras.Input((32 // feature.stride * 8,) * 2 + (feature.channels,)) for feature in FEATURES]
    )
    return neck


def names(sought):
    """All names looked for, by the path of the variable below the neck."""
    return {each.variable.path.removeprefix("neck/"): each.names for each in sought}


@pytest.fixture(scope="module")
def extra_layers():
    return built(
        SsdLayers(
            FEATURES,
            settings=LayerSettings(),
            depths=(40,),
            use_depthwise=True,
            padding="explicit",
            name="neck",
        )
    )


def test_extra_layers_are_named_by_the_depth_of_what_they_give(extra_layers):
    found = names(neck_names.ssd_layers_tf1(extra_layers, "layer_19"))
    assert found["level_2/reduce/batch_norm/beta"] == ("layer_19_1_Conv2d_2_1x1_20/BatchNorm/beta",)
    assert found["level_2/shrink_depthwise/convolution/kernel"] == (
        "layer_19_2_Conv2d_2_3x3_s2_40_depthwise/depthwise_weights",
    )
    assert found["level_2/shrink/convolution/kernel"] == ("layer_19_2_Conv2d_2_3x3_s2_40/weights",)


def test_explicit_padding_moves_what_shrinks_by_one(extra_layers):
    found = names(neck_names.ssd_layers_tf2(extra_layers))
    layers = "feature_map_generator/convolutions/2"
    assert f"{layers}/0/kernel" in found["level_2/reduce/convolution/kernel"]
    assert f"{layers}/4/depthwise_kernel" in found["level_2/shrink_depthwise/convolution/kernel"]
    assert f"{layers}/7/kernel" in found["level_2/shrink/convolution/kernel"]
    assert f"{layers}/8/gamma" in found["level_2/shrink/batch_norm/gamma"]


def test_a_pyramid_is_numbered_from_the_top_in_tf2_and_from_the_bottom_in_tf1():
    neck = built(
        Fpn(
            FEATURES,
            depth=8,
            num_coarse_levels=2,
            upsamples_smoothed=True,
            settings=LayerSettings(),
            name="neck",
        )
    )
    found = names(neck_names.fpn_tf2(neck))
    generator = "_fpn_features_generator"
    assert found["lateral_2/convolution/bias"] == (f"{generator}/top_layers/0/bias",)
    assert found["lateral_1/convolution/bias"] == (f"{generator}/residual_blocks/0/0/bias",)
    assert found["smoothing_1/batch_norm/beta"][0] == f"{generator}/conv_layers/0/1/beta"
    assert found["coarse_2/convolution/kernel"][0] == "_coarse_feature_layers/1/0/kernel"
    slim = names(neck_names.fpn_tf1(neck, "block", 5))
    assert slim["lateral_2/convolution/bias"] == ("fpn/projection_2/biases",)
    assert slim["coarse_2/convolution/kernel"] == ("fpn/bottom_up_block6/weights",)
