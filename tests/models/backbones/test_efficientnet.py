from __future__ import annotations

import importlib.util
import json
import re
from collections import defaultdict

import keras
import numpy as np
import pytest
import tensorflow as tf

from holdfast.models.backbones.backbone_spec import BACKBONES
from holdfast.models.backbones.efficientnet import (
    SCALES,
    BlockPlan,
    EfficientBlock,
    default_settings,
    efficientnet,
)
from holdfast.models.backbones.keras_order import keras_order
from holdfast.models.layers.batch_norm import BatchNormSettings
from holdfast.models.layers.convolution import LayerSettings

LEVELS = ("level_1", "level_2", "level_3", "level_4", "level_5")
USED = "model/_feature_extractor/_efficientnet"
IDLE = "model/_feature_extractor/classification_backbone"


@pytest.fixture(scope="module")
def backbone():
    backbone = BACKBONES["efficientnet_b0"].factory(LEVELS)
    backbone(keras.KerasTensor((1, 64, 64, 3)))
    return backbone


@pytest.fixture(scope="module")
def golden(shared):
    return shared / "goldens" / "ssd_efficientdet_d0_512x512_coco17_tpu-8"


def checkpoint_prefixes(backbone):
    """The layer_with_weights-N of each layer with weights."""
    used = sum(len(keras_order(block)) for block in backbone.blocks)
    layers = keras_order(backbone)
    return {
        f"{USED if number < used else IDLE}/layer_with_weights-{number}": layer
        for number, layer in enumerate(layers)
    }


def od_name(layer):
    """The name of a layer in the OD API's EfficientNet."""
    path = layer.path.removeprefix("backbone/").removeprefix("classifier/")
    path = path.replace("batch_norm", "bn")
    path = re.sub("squeeze_excite/(reduce|expand)", r"se_\1/convolution", path)
    path = re.sub(r"^(stack_\d)_(block_\d+)", r"\1/\2", path).replace("convolution", "conv2d")
    return "_".join(path.rsplit("/", 1))


def variables(layer):
    is_depthwise = isinstance(layer, keras.layers.DepthwiseConv2D)
    return {"depthwise_kernel" if is_depthwise else weight.name: weight for weight in layer.weights}


def test_layers_are_those_of_the_od_api_in_the_order_of_its_checkpoints(golden, backbone):
    expected = defaultdict(dict)
    for key, shape, _ in json.loads((golden / "variables.json").read_text()):
        if key.startswith((USED, IDLE)):
            prefix, name = key.split("/.ATTRIBUTES")[0].rsplit("/", 1)
            expected[prefix][name] = shape
    assert expected == {
        prefix: {name: list(weight.shape) for name, weight in variables(layer).items()}
        for prefix, layer in checkpoint_prefixes(backbone).items()
    }


def test_each_layer_is_the_layer_of_that_name_in_the_od_api(golden, backbone):
    known = json.loads((golden / "layers.json").read_text())
    for prefix, layer in checkpoint_prefixes(backbone).items():
        expected = known[prefix]
        assert od_name(layer) == expected["name"]
        if "strides" in expected:
            assert list(layer.strides) == expected["strides"]
        if "epsilon" in expected:
            assert layer.settings.epsilon == pytest.approx(expected["epsilon"])
            assert layer.settings.momentum == pytest.approx(expected["momentum"])


def test_layers_that_never_run_are_regularized_as_in_the_od_api(shared, golden, backbone):
    # Nothing but regularization reaches them, so the golden gradient of the total loss is its.
    golden_gradients = json.loads((golden / "gradients_bn_inference.json").read_text())["gradients"]
    value_of = rule_of(shared)
    idle = {
        f"{prefix}/{name}/.ATTRIBUTES/VARIABLE_VALUE": weight
        for prefix, layer in checkpoint_prefixes(backbone).items()
        if prefix.startswith(IDLE)
        for name, weight in variables(layer).items()
    }
    for key, weight in idle.items():
        weight.assign(value_of(key, weight.shape, []))
    with tf.GradientTape() as tape:
        loss = sum(backbone.losses)
    gradients = tape.gradient(loss, {key: weight.value for key, weight in idle.items()})
    measured = {
        key: [np.linalg.norm(gradient), np.sum(gradient, dtype=np.float64)]
        for key, gradient in gradients.items()
        if gradient is not None
    }
    assert measured.keys() == golden_gradients.keys() & idle.keys()
    for key, pair in measured.items():
        np.testing.assert_allclose(pair, golden_gradients[key], rtol=1e-4, atol=1e-8)


def rule_of(shared):
    """The rule by which the goldens' weights follow from their names."""
    path = shared / "tools" / "golden_checkpoint.py"
    specification = importlib.util.spec_from_file_location("golden_checkpoint", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.value_of


def test_kernels_and_biases_are_regularized_but_not_depthwise_kernels(backbone):
    regularized = [
        weight
        for layer in keras_order(backbone)
        for name, weight in variables(layer).items()
        if name in ("kernel", "bias")
    ]
    expected = 5e-6 * sum(float(np.sum(np.square(weight))) for weight in regularized)
    assert len(backbone.losses) == len(regularized) == 99
    np.testing.assert_allclose(float(sum(backbone.losses)), expected, rtol=1e-5)


# The larger version has blocks behind each endpoint that B0 has not.
@pytest.mark.parametrize("version", ["b0", pytest.param("b2", marks=pytest.mark.slow)])
def test_features_equal_those_of_keras(version):
    keras.utils.set_random_seed(1)
    make = getattr(keras.applications, f"EfficientNet{version.upper()}")
    # Keras pads for the size it is built for, which gives what "same" gives.
    size = (65, 94)
    reference = make(weights=None, input_shape=(*size, 3))
    backbone = efficientnet(LEVELS, version=version)
    images = np.random.default_rng(1).normal(size=(1, *size, 3)).astype("float32")
    backbone(images)
    copy_from(reference, backbone)
    ends = ["block1a_project_bn", "block2b_add", "block3b_add", "block5c_add", "block7a_project_bn"]
    reference = keras.Model(reference.input, [reference.get_layer(end).output for end in ends])
    for ours, theirs in zip(backbone(images), reference(images * 255.0), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4 * np.ptp(theirs))


def copy_from(reference, backbone):
    random = np.random.default_rng(2)
    sources = [layer for layer in reference.layers if layer.weights]
    sources = [layer for layer in sources if not isinstance(layer, keras.layers.Normalization)]
    for source, layer in zip(sources, keras_order(backbone), strict=True):
        if isinstance(source, keras.layers.BatchNormalization):
            source.moving_mean.assign(random.normal(size=source.moving_mean.shape))
            source.moving_variance.assign(random.uniform(0.5, 2.0, source.moving_variance.shape))
        for ours, theirs in zip(layer.weights, source.weights, strict=True):
            ours.assign(theirs)


def test_drop_connect_rises_as_in_keras():
    reference = keras.applications.EfficientNetB0(weights=None, include_top=False)
    expected = [layer.rate for layer in reference.layers if layer.name.endswith("_drop")]
    blocks = [block for block in efficientnet(LEVELS).blocks if hasattr(block, "drop_connect")]
    rates = [block.drop_connect.rate for block in blocks if block.has_shortcut]
    np.testing.assert_allclose(rates, expected)


@pytest.mark.parametrize("version", SCALES)
def test_channels_are_those_of_the_paper(version):
    features = BACKBONES[f"efficientnet_{version}"].factory(LEVELS[2:]).features
    assert tuple(feature.stride for feature in features) == (8, 16, 32)
    # arXiv 1905.11946 scales widths 40, 112, 320; these are the published networks'.
    assert (
        tuple(feature.channels for feature in features)
        == {
            "b0": (40, 112, 320),
            "b1": (40, 112, 320),
            "b2": (48, 120, 352),
            "b3": (48, 136, 384),
            "b4": (56, 160, 448),
            "b5": (64, 176, 512),
            "b6": (72, 200, 576),
            "b7": (80, 224, 640),
        }[version]
    )


def test_declared_strides_and_channels_are_true(backbone):
    for size in [(64, 96), (33, 65), (77, 50), (95, 31)]:
        for output, feature in zip(
            backbone(np.zeros((2, *size, 3))), backbone.features, strict=True
        ):
            cells = (-(-side // feature.stride) for side in size)
            assert output.shape == (2, *cells, feature.channels)


def residual_block(drop_rate):
    plan = BlockPlan("block", 8, 8, 3, 6, 1, 1, drop_rate)
    settings = LayerSettings(activation="swish", batch_norm=BatchNormSettings(is_frozen=True))
    return EfficientBlock(plan, settings=settings)


def test_drop_connect_leaves_inference_alone():
    keras.utils.set_random_seed(3)
    images = np.random.default_rng(3).normal(size=(4, 3, 3, 8)).astype("float32")
    block = residual_block(0.5)
    np.testing.assert_array_equal(block(images), block(images, training=False))


def test_drop_connect_drops_whole_images_and_keeps_the_expectation():
    keras.utils.set_random_seed(3)
    image = np.random.default_rng(3).normal(size=(1, 3, 3, 8)).astype("float32")
    images = np.repeat(image, 4000, axis=0)
    block = residual_block(0.2)
    change = np.asarray(block(images)) - images
    in_training = np.asarray(block(images, training=True)) - images
    is_dropped = np.all(in_training == 0.0, axis=(1, 2, 3))
    np.testing.assert_allclose(in_training[~is_dropped], change[~is_dropped] / 0.8, atol=1e-5)
    assert np.mean(is_dropped) == pytest.approx(0.2, abs=0.02)


def test_of_a_config_only_the_regularizer_and_frozen_batch_norm_arrive():
    settings = LayerSettings(
        activation="relu6", batch_norm=BatchNormSettings(epsilon=0.1, is_frozen=True), l2=4e-5
    )
    stem = efficientnet(["level_1"], settings=settings).blocks[0]
    own = default_settings()
    assert stem.activation is keras.activations.get(own.activation)
    assert stem.batch_norm.settings == BatchNormSettings(
        momentum=0.99, epsilon=1e-3, is_frozen=True
    )
    assert stem.convolution.kernel_regularizer.l2 == pytest.approx(4e-5)
