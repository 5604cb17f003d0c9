"""Files as keras.applications has them fill the backbones that the table names them for."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from tests.checkpoints.keras_files import write_old_format

import holdfast.models.backbones  # noqa: F401  registers all of them
from holdfast.checkpoints.keras_weights import load_keras_weights
from holdfast.checkpoints.zoo.imagenet_files import imagenet_files
from holdfast.models.backbones.backbone_spec import BACKBONES
from holdfast.models.backbones.inception_resnet_v2 import (
    default_settings,
    inception_resnet_v2_of_images,
    inception_resnet_v2_of_regions,
)
from holdfast.models.backbones.keras_resnet import keras_resnet_v1, keras_resnet_v2

SIDE = 64  # all of its halves are even, so that Keras pads them as the OD API does
APPLICATIONS = keras.applications


def fixed(name, **keywords):
    def make():
        return getattr(APPLICATIONS, name)(input_shape=(SIDE, SIDE, 3), weights=None, **keywords)

    return make


NO_TOP = {"include_top": False}
CASES = [
    ("mobilenet_v1", "MobileNet", NO_TOP, "conv_pw_13_relu"),
    ("mobilenet_v2", "MobileNetV2", NO_TOP, "out_relu"),
    ("efficientnet_b0", "EfficientNetB0", {}, None),
    pytest.param("efficientnet_b3", "EfficientNetB3", {}, None, marks=pytest.mark.slow),
    pytest.param("resnet101_v1", "ResNet101", NO_TOP, None, marks=pytest.mark.slow),
]


def spread(application):
    """Give values that tell every layer from every other."""
    draw = np.random.default_rng(1)
    for weight in application.weights:
        noise = draw.standard_normal(weight.shape)
        fan_in = np.prod(weight.shape[:-1]) if len(weight.shape) > 1 else 1
        is_scale = "gamma" in weight.name or "variance" in weight.name
        weight.assign(1 + 0.1 * np.abs(noise) if is_scale else noise * np.sqrt(1 / fan_in))
    return application


@pytest.mark.parametrize(("name", "application", "keywords", "layer"), CASES)
def test_a_file_of_keras_fills_the_whole_backbone(tmp_path, name, application, keywords, layer):
    assert (name, 1.0) in imagenet_files()
    model = spread(fixed(application, **keywords)())
    spec = BACKBONES[name]
    backbone = spec.build([spec.levels[5]], depth_multiplier=1.0)
    backbone(keras.KerasTensor((1, SIDE, SIDE, 3)))
    report = load_keras_weights(backbone, write_old_format(tmp_path / "a.h5", model))
    assert report.missing == ()
    if layer is not None:
        image = np.random.default_rng(0).uniform(-1, 1, (1, SIDE, SIDE, 3)).astype(np.float32)
        (found,) = backbone(image)
        expected = keras.Model(model.input, model.get_layer(layer).output)(image)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * np.std(expected))


@pytest.mark.parametrize(
    ("make", "application"),
    [
        (keras_resnet_v2, "ResNet50V2"),
        pytest.param(keras_resnet_v1, "ResNet50", marks=pytest.mark.slow),
    ],
)
def test_a_resnet_of_center_net_is_filled(tmp_path, make, application):
    model = spread(fixed(application, include_top=False)())
    backbone = make(["block4"], depth=50)
    backbone(keras.KerasTensor((1, SIDE, SIDE, 3)))
    report = load_keras_weights(backbone, write_old_format(tmp_path / "a.h5", model))
    assert report.missing == ()


@pytest.mark.slow
def test_an_inception_resnet_cut_in_two_is_filled(tmp_path):
    model = spread(
        APPLICATIONS.InceptionResNetV2(input_shape=(96, 96, 3), include_top=False, weights=None)
    )
    images = inception_resnet_v2_of_images(settings=default_settings(), generation="tf2")
    regions = inception_resnet_v2_of_regions(settings=default_settings(), generation="tf2")
    (features,) = images(keras.KerasTensor((1, 96, 96, 3)))
    regions(features)
    report = load_keras_weights(images, write_old_format(tmp_path / "a.h5", model), regions)
    assert report.missing == ()


def test_networks_that_differ_from_keras_have_no_file():
    """The last blocks of the OD API's MobileNet V3 have half the channels."""
    assert not [name for name, _ in imagenet_files() if name.startswith("mobilenet_v3")]
