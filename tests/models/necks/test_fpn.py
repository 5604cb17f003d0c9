from __future__ import annotations

import numpy as np
import pytest

from .numpy_layers import layer, weights_of
from .parts import SETTINGS, fpn, maps


@pytest.mark.parametrize(("size", "use_depthwise"), [(96, False), (97, True)])
@pytest.mark.parametrize("upsamples_smoothed", [False, True])
def test_features_come_down_and_are_smoothed(
    size: int, use_depthwise: bool, upsamples_smoothed: bool
):
    neck = fpn(upsamples_smoothed=upsamples_smoothed, use_depthwise=use_depthwise)
    inputs = maps(size, size)
    neck(inputs)
    expected = pyramid(inputs, weights_of(neck), upsamples_smoothed)
    for actual, value in zip(neck(inputs), expected, strict=True):
        np.testing.assert_allclose(actual, value, atol=1e-4)


def pyramid(
    inputs: list[np.ndarray], weights: dict[str, np.ndarray], upsamples_smoothed: bool
) -> list[np.ndarray]:
    fine, middle, coarse = (
        layer(feature, weights, f"lateral_{level}", is_active=False)
        for level, feature in enumerate(inputs, start=1)
    )
    merged = middle + enlarged(coarse, middle)
    smoothed = layer(merged, weights, "smoothing_2")
    finest = fine + enlarged(smoothed if upsamples_smoothed else merged, fine)
    sixth = layer(coarse, weights, "coarse_1", strides=2)
    seventh = layer(sixth, weights, "coarse_2", strides=2)
    return [layer(finest, weights, "smoothing_1"), smoothed, coarse, sixth, seventh]


def enlarged(coarse: np.ndarray, fine: np.ndarray) -> np.ndarray:
    _, height, width, _ = fine.shape
    return np.repeat(np.repeat(coarse, 2, axis=1), 2, axis=2)[:, :height, :width]


def test_without_coarse_levels_the_pyramid_is_as_high_as_the_backbone():
    neck = fpn(num_coarse_levels=0)
    assert [feature.stride for feature in neck.features] == [8, 16, 32]
    assert len(neck(maps(64, 64))) == 3


def test_plain_pointwise_kernels_are_not_penalized():
    neck = fpn(use_depthwise=True, plain_pointwise=True)
    neck(maps(32, 32))
    weights = weights_of(neck)
    penalized = [
        value
        for path, value in weights.items()
        if path.endswith("kernel") and "pointwise" not in path
    ]
    assert len(penalized) == 3 + 4
    expected = SETTINGS.l2 / 2 * sum((value**2).sum() for value in penalized)
    assert float(sum(neck.losses)) == pytest.approx(expected, rel=1e-4)
