from __future__ import annotations

import numpy as np
import pytest

from holdfast.models.features import Feature
from holdfast.models.necks.ssd_layers import SsdLayers

from .numpy_layers import layer, weights_of
from .parts import SETTINGS, maps, ssd_layers


@pytest.mark.parametrize("padding", ["same", "explicit"])
@pytest.mark.parametrize(("size", "use_depthwise"), [(96, False), (100, True)])
def test_each_map_is_reduced_and_then_halved(padding: str, use_depthwise: bool, size: int):
    neck, inputs = ssd_layers(padding=padding, use_depthwise=use_depthwise), maps(size, size)
    neck(inputs)
    weights, is_explicit = weights_of(neck), padding == "explicit"
    expected = list(inputs)
    for level in ("level_3", "level_4"):
        current = layer(expected[-1], weights, f"{level}/reduce")
        if use_depthwise:
            current = layer(current, weights, f"{level}/shrink_depthwise", 2, is_explicit)
            expected.append(layer(current, weights, f"{level}/shrink"))
        else:
            expected.append(layer(current, weights, f"{level}/shrink", 2, is_explicit))
    for actual, value in zip(neck(inputs), expected, strict=True):
        np.testing.assert_allclose(actual, value, atol=1e-4)


def test_padding_matters_where_a_map_is_even():
    same, explicit = ssd_layers(), ssd_layers(padding="explicit")
    inputs = maps(128, 128)  # the coarsest map is 4 x 4
    same(inputs), explicit(inputs)
    explicit.set_weights(same.get_weights())
    assert not np.allclose(same(inputs)[3], explicit(inputs)[3])


def test_depths_are_multiplied_after_they_are_halved():
    neck = SsdLayers((Feature(16, 4),), settings=SETTINGS, depths=(513, 20), depth_multiplier=0.5)
    assert [feature.channels for feature in neck.features] == [4, 256, 16]
    assert [block.reduce.convolution.filters for block in neck.blocks] == [128, 16]


def test_a_plain_depthwise_kernel_is_not_penalized():
    inputs, penalties = maps(32, 32), []
    for is_plain in (False, True):
        neck = ssd_layers(use_depthwise=True, plain_depthwise=is_plain)
        neck(inputs)
        weights_of(neck)
        penalties.append(float(sum(neck.losses)))
    kernels = [block.shrink_depthwise.convolution.kernel.numpy() for block in neck.blocks]
    expected = SETTINGS.l2 / 2 * sum((kernel**2).sum() for kernel in kernels)
    assert penalties[0] - penalties[1] == pytest.approx(expected, rel=1e-4)
