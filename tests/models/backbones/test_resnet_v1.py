from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from holdfast.models.backbones.backbone_spec import BACKBONES
from holdfast.models.backbones.keras_order import keras_order
from holdfast.models.backbones.resnet_v1 import default_settings, resnet_v1
from holdfast.models.layers.batch_norm import BatchNormSettings
from holdfast.models.layers.convolution import LayerSettings

BLOCKS = ("block1", "block2", "block3", "block4")
CONFIG_SETTINGS = LayerSettings(
    activation="relu6", batch_norm=BatchNormSettings(momentum=0.9, epsilon=0.1), l2=0.0004
)
SMALL = {"depth_multiplier": 0.125, "min_depth": 4}


def built(backbone):
    backbone(keras.KerasTensor((1, 64, 64, 3)))
    return backbone


def tf2_name(layer):
    """The name of a layer in the OD API's Keras network."""
    path = layer.path.removeprefix("backbone/").replace("batch_norm", "bn")
    path = path.replace("convolution", "conv").replace("/", "_")
    place = re.match(r"block(\d)_unit_(\d+)_(conv(\d)|shortcut)_(\w+)", path)
    if place is None:
        return path
    block, unit, _, number, kind = place.groups()
    return f"conv{int(block) + 1}_block{unit}_{number or 0}_{kind}"


def tf1_name(variable):
    """The name of a variable in the OD API's slim network, below the network's scope."""
    path = variable.path.removeprefix("backbone/")
    path = re.sub(r"^(block\d)_(unit_\d+)", r"\1/\2/bottleneck_v1", path)
    return path.replace("convolution/kernel", "weights").replace("batch_norm", "BatchNorm")


def numbered(shapes_by_key, prefix):
    """The shapes of the variables of `layer_with_weights-0`, -1, -2, ... below a prefix."""
    layers = defaultdict(dict)
    for key, shape in shapes_by_key.items():
        if place := re.match(rf"{prefix}/layer_with_weights-(\d+)/(\w+)/\.ATTR", key):
            layers[int(place[1])][place[2]] = tuple(shape)
    return [layers[number] for number in range(len(layers))]


def variables_of(golden: Path):
    entries = json.loads((golden / "variables.json").read_text())
    return {key: shape for key, shape, _ in entries}


def shapes(layer):
    return {weight.name: tuple(weight.shape) for weight in layer.weights}


def test_layers_are_those_of_the_od_api_in_the_order_of_its_tf2_checkpoints(shared):
    golden = shared / "goldens" / "ssd_resnet50_v1_fpn_640x640_coco17_tpu-8"
    prefix = "model/_feature_extractor/classification_backbone"
    known = json.loads((golden / "layers.json").read_text())
    layers = keras_order(built(resnet_v1(BLOCKS, min_depth=16)))
    assert [shapes(layer) for layer in layers] == numbered(variables_of(golden), prefix)
    for number, layer in enumerate(layers):
        expected = known[f"{prefix}/layer_with_weights-{number}"]
        assert tf2_name(layer) == expected["name"]
        if "strides" in expected:
            assert list(layer.strides) == expected["strides"]


@pytest.fixture(scope="module")
def resnet101():
    return built(BACKBONES["resnet101_v1"].factory(BLOCKS, generation="tf1"))


def test_resnet101_has_the_layers_of_a_tf2_checkpoint(corpus, resnet101):
    prefix = str(corpus / "checkpoint_indexes" / "checkpoint01")
    checkpoint = tf.train.load_checkpoint(prefix).get_variable_to_shape_map()
    expected = [
        *numbered(checkpoint, "model/_feature_extractor_for_proposal_features"),
        *numbered(checkpoint, "model/_feature_extractor_for_box_classifier_features"),
    ]
    assert [shapes(layer) for layer in keras_order(resnet101)] == expected


def test_resnet101_has_the_variables_of_the_slim_network(shared, resnet101):
    scope = "FirstStageFeatureExtractor/resnet_v1_101/"
    golden = variables_of(shared / "goldens" / "mask_rcnn_resnet101_atrous_256x256")
    assert {scope + tf1_name(weight): list(weight.shape) for weight in resnet101.weights} == {
        name: shape for name, shape in golden.items() if name.startswith(scope)
    }


@pytest.fixture(scope="module")
def keras_resnet50():
    keras.utils.set_random_seed(1)
    return keras.applications.ResNet50(weights=None, include_top=False)


@pytest.mark.parametrize("generation", ["tf1", "tf2"])
def test_features_equal_those_of_keras_with_its_biases_in_the_moving_means(
    generation, keras_resnet50
):
    backbone = built(resnet_v1(BLOCKS, generation=generation))
    copy_from(keras_resnet50, backbone)
    ends = ["conv2_block3_out", "conv3_block4_out", "conv4_block6_out", "conv5_block3_out"]
    reference = keras.Model(
        keras_resnet50.input, [keras_resnet50.get_layer(end).output for end in ends]
    )
    # Keras pads the pooling on both sides, the OD API as "same" does: alike for these sizes.
    images = np.random.default_rng(1).normal(size=(1, 65, 93, 3)).astype("float32")
    for ours, theirs in zip(backbone(images), reference(images), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4 * np.ptp(theirs))


def copy_from(reference, backbone):
    random = np.random.default_rng(2)
    for layer in keras_order(backbone):
        name = tf2_name(layer)
        if name.endswith("conv"):
            kernel, bias = reference.get_layer(name).weights
            bias.assign(random.normal(size=bias.shape))
            layer.kernel.assign(kernel)
            continue
        source = reference.get_layer(name)
        source.moving_mean.assign(random.normal(size=source.moving_mean.shape))
        source.moving_variance.assign(random.uniform(0.5, 2.0, source.moving_variance.shape))
        for ours, theirs in zip(layer.weights, source.weights, strict=True):
            ours.assign(theirs)
        bias = reference.get_layer(name.removesuffix("bn") + "conv").bias
        layer.moving_mean.assign(source.moving_mean - bias)


@pytest.mark.parametrize("generation", ["tf1", "tf2"])
def test_declared_strides_and_channels_are_true(generation):
    backbone = resnet_v1(BLOCKS, generation=generation, **SMALL)
    for size in [(64, 96), (33, 65), (77, 50), (95, 31)]:
        for output, feature in zip(
            backbone(np.zeros((2, *size, 3))), backbone.features, strict=True
        ):
            cells = (-(-side // feature.stride) for side in size)
            assert output.shape == (2, *cells, feature.channels)


@pytest.mark.parametrize(
    ("generation", "stem", "channels"),
    [("tf1", 64, (160, 160, 256, 512)), ("tf2", 40, (64, 128, 256, 512))],
)
def test_narrow_networks_have_the_channels_of_the_od_api(generation, stem, channels):
    backbone = resnet_v1(BLOCKS, generation=generation, depth_multiplier=0.25, min_depth=40)
    assert tuple(feature.channels for feature in backbone.features) == channels
    outputs = backbone(keras.KerasTensor((1, 64, 64, 3)))
    assert tuple(output.shape[-1] for output in outputs) == channels
    assert backbone.blocks[0].convolution.filters == stem


def test_only_in_tf2_does_the_activation_of_a_config_end_a_unit():
    images = np.random.default_rng(0).normal(size=(1, 64, 64, 3)) * 1000.0
    largest = {}
    for generation in ("tf1", "tf2"):
        keras.utils.set_random_seed(0)
        settings = replace(default_settings(), activation="relu6")
        backbone = resnet_v1(["block1"], settings=settings, generation=generation, **SMALL)
        largest[generation] = float(np.max(backbone(images)[0]))
    assert largest["tf2"] == 6.0
    assert largest["tf1"] > 6.0


@pytest.mark.parametrize(("generation", "expected"), [("tf1", (0.997, 1e-5)), ("tf2", (0.9, 0.1))])
def test_only_in_tf2_does_the_batch_norm_of_a_config_arrive(generation, expected):
    backbone = resnet_v1(["block1"], settings=CONFIG_SETTINGS, generation=generation, **SMALL)
    norms = [layer.settings for layer in keras_order(built(backbone)) if hasattr(layer, "gamma")]
    assert {(norm.momentum, norm.epsilon) for norm in norms} == {expected}


@pytest.mark.parametrize(("generation", "weight"), [("tf1", 0.00005), ("tf2", 0.0001)])
def test_by_default_all_kernels_are_regularized_and_nothing_else(generation, weight):
    backbone = built(resnet_v1(["block2"], generation=generation, **SMALL))
    kernels = [weight for weight in backbone.weights if weight.name == "kernel"]
    expected = weight * sum(float(np.sum(np.square(kernel))) for kernel in kernels)
    assert len(backbone.losses) == len(kernels)
    np.testing.assert_allclose(float(sum(backbone.losses)), expected, rtol=1e-5)


def test_frozen_batch_norm_stays_as_it_is_in_training():
    settings = replace(CONFIG_SETTINGS, batch_norm=BatchNormSettings(is_frozen=True))
    backbone = resnet_v1(["block1"], settings=settings, generation="tf1", **SMALL)
    images = np.random.default_rng(0).normal(size=(2, 64, 64, 3))
    [inference] = backbone(images)
    [training] = backbone(images, training=True)
    np.testing.assert_array_equal(training, inference)
