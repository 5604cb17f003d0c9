"""Backbones beside what they must equal: the OD API's variables, Keras' own networks."""

from __future__ import annotations

import json
import re
from collections import defaultdict

import numpy as np
import tensorflow as tf

from holdfast.models.backbones.keras_order import keras_order

TF1_LEAVES = [
    (r"convolution/(depthwise|pointwise)_kernel$", r"\1_weights"),
    (r"depthwise/convolution/kernel$", "depthwise/depthwise_weights"),
    (r"convolution/kernel$", "weights"),
    (r"convolution/bias$", "biases"),
    (r"^(Conv2d_\d+)/(depthwise|pointwise)", r"\1_\2"),
    ("batch_norm", "BatchNorm"),
]
OF_NECK_OR_OPTIMIZER = re.compile(r"_[12]_Conv2d_\d|/fpn/|/Momentum$")
TF2_SCOPE = "model/_feature_extractor/classification_backbone"


def built(backbone):
    backbone(np.zeros((1, 32, 32, 3), "float32"))
    return backbone


def tf1_shapes(backbone):
    """The shapes of the variables, by their names in slim below the network's scope."""
    shapes = {}
    for variable in backbone.variables:
        name = variable.path.removeprefix("backbone/")
        for pattern, replacement in TF1_LEAVES:
            name = re.sub(pattern, replacement, name)
        shapes[name] = tuple(variable.shape)
    return shapes


def golden_shapes(folder):
    entries = json.loads((folder / "variables.json").read_text())
    return {key: shape for key, shape, _ in entries}


def checkpoint_shapes(prefix):
    return tf.train.load_checkpoint(str(prefix)).get_variable_to_shape_map()


def below(shapes, scope):
    """The variables of a TF1 network, without what else lies in its scope."""
    return {
        key.removeprefix(scope): tuple(shape)
        for key, shape in shapes.items()
        if key.startswith(scope) and not OF_NECK_OR_OPTIMIZER.search(key)
    }


def tf2_shapes(backbone):
    return [_by_name(layer) for layer in keras_order(backbone)]


def numbered(shapes):
    """The variables of `layer_with_weights-0`, -1, ... of a TF2 checkpoint's backbone."""
    layers = defaultdict(dict)
    for key, shape in shapes.items():
        if place := re.match(rf"{TF2_SCOPE}/layer_with_weights-(\d+)/(\w+)/\.ATTR", key):
            name = place[2].replace("depthwise_kernel", "kernel")
            layers[int(place[1])][name] = tuple(shape)
    return [layers[number] for number in range(len(layers))]


def _by_name(layer):
    return {weight.name: tuple(weight.shape) for weight in layer.weights}


def copy_from_keras(network, backbone):
    """Give both the same random weights, up to the first layer that has another shape."""
    random = np.random.default_rng(1)
    theirs = [layer for layer in network.layers if layer.weights]
    for ours, layer in zip(keras_order(backbone), theirs, strict=False):
        for variable, other in zip(ours.weights, layer.weights, strict=True):
            assert variable.name == other.name
            if variable.shape != other.shape:
                return
            values = _random_like(variable, random)
            variable.assign(values)
            other.assign(values)


def randomize(backbone):
    random = np.random.default_rng(1)
    for variable in backbone.variables:
        variable.assign(_random_like(variable, random))


def _random_like(variable, random):
    if variable.name in ("gamma", "moving_variance"):
        return random.uniform(0.5, 1.5, variable.shape)
    if len(variable.shape) == 1:
        return 0.1 * random.normal(size=variable.shape)
    fan_in = np.prod(variable.shape[:2]) * (1 if variable.shape[-1] == 1 else variable.shape[2])
    return random.normal(size=variable.shape) * np.sqrt(2.0 / fan_in)


def images(*size, seed=0):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (2, *size, 3)).astype("float32")


def channels(backbone):
    return [feature.channels for feature in backbone.features]


def assert_features_are_as_declared(backbone):
    for size in [(64, 96), (33, 65), (77, 50)]:
        outputs = backbone(images(*size))
        for output, feature in zip(outputs, backbone.features, strict=True):
            cells = (-(-side // feature.stride) for side in size)
            assert output.shape == (2, *cells, feature.channels)


def assert_explicit_padding_mirrors_same_padding(same, explicit):
    """Of even sides, "same" pads the end and explicit padding has use for the start alone."""
    randomize(built(same))
    for ours, theirs in zip(built(explicit).variables, same.variables, strict=True):
        values = theirs.numpy()
        ours.assign(values[::-1, ::-1] if values.ndim == 4 else values)
    image = images(64, 96)
    for output, expected in zip(explicit(image[:, ::-1, ::-1]), same(image), strict=True):
        mirrored = np.array(output)[:, ::-1, ::-1]
        np.testing.assert_allclose(mirrored, expected, atol=1e-4 * np.ptp(expected))
    assert np.abs(explicit(image)[-1] - same(image)[-1]).max() > 0.01


def kernels(backbone, *, depthwise):
    """The kernels of the depthwise convolutions, or those of the others."""
    return [
        variable
        for variable in backbone.variables
        if variable.name == "kernel" and ("/depthwise/" in variable.path) == depthwise
    ]


def assert_regularized(backbone, weight, variables):
    expected = 0.5 * weight * sum(float(np.sum(np.square(variable))) for variable in variables)
    np.testing.assert_allclose(float(sum(backbone.losses)), expected, rtol=1e-5)


def norms(backbone):
    """The settings of the batch norms."""
    return {layer.settings for layer in keras_order(backbone) if hasattr(layer, "moving_mean")}


def activations(backbone):
    """The activations that the convolutions use."""
    layers = backbone._flatten_layers()
    return {layer.activation.__name__ for layer in layers if hasattr(layer, "margin")}
