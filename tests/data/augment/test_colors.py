"""Colors change as the formulas say, compared with the standard library's and NumPy's."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np
import pytest

from holdfast.data.augment import colors
from holdfast.errors import HoldfastError

from .scenes import as_float, as_tensors, augmented, scene

SEEDS = [(number, 2) for number in range(60)]
NOISE = np.random.default_rng(0).integers(0, 256, (12, 15, 3)).astype(np.uint8)
SAMPLE = scene()._replace(image=NOISE, masks=None)
EXACT = as_float(SAMPLE)


def images(name: str, **arguments: Any) -> list[np.ndarray]:
    results = augmented([EXACT] * 60, SEEDS, getattr(colors, name), **arguments)
    return [result.image for result in results]


def test_brightness_adds_one_number_within_its_bound() -> None:
    added = []
    for image in images("random_adjust_brightness", max_delta=0.1):
        inner = (image > 0) & (image < 255)
        difference = (image - EXACT.image)[inner]
        assert np.ptp(difference) < 1e-3
        added.append(difference.mean() / 255)
    assert max(np.abs(added)) <= 0.1
    assert min(added) < -0.05
    assert max(added) > 0.05


def test_contrast_stretches_about_the_mean_of_each_channel() -> None:
    factors = []
    mean = EXACT.image.mean(axis=(0, 1))
    for image in images("random_adjust_contrast", min_delta=0.5, max_delta=1.5):
        inner = (image > 0) & (image < 255) & (np.abs(EXACT.image - mean) > 20)
        ratio = ((image - mean) / (EXACT.image - mean))[inner]
        assert np.ptp(ratio) < 1e-3
        factors.append(ratio.mean())
    assert min(factors) >= 0.5
    assert max(factors) <= 1.5
    assert np.ptp(factors) > 0.7


def test_hue_turns_and_saturation_scales_in_hsv() -> None:
    pixels = EXACT.image.reshape(-1, 3) / 255.0
    before = np.array([colorsys.rgb_to_hsv(*pixel) for pixel in pixels])
    clear = (before[:, 1] > 0.2) & (before[:, 2] > 0.2)
    for image in images("random_adjust_hue", max_delta=0.1)[:5]:
        after = np.array([colorsys.rgb_to_hsv(*p) for p in image.reshape(-1, 3) / 255.0])
        turn = (after - before)[clear, 0]
        turn = (turn + 0.5) % 1.0 - 0.5
        assert np.ptp(turn) < 1e-4
        assert abs(turn.mean()) <= 0.1
        np.testing.assert_allclose(after[:, 1:], before[:, 1:], atol=1e-4)
    for image in images("random_adjust_saturation", min_delta=0.3, max_delta=0.9)[:5]:
        after = np.array([colorsys.rgb_to_hsv(*p) for p in image.reshape(-1, 3) / 255.0])
        ratio = (after[:, 1] / before[:, 1])[clear]
        assert np.ptp(ratio) < 1e-3
        assert 0.3 <= ratio.mean() <= 0.9
        np.testing.assert_allclose(after[:, 2], before[:, 2], atol=1e-4)


def test_uint8_is_the_rounded_float() -> None:
    arguments: dict[str, dict[str, Any]] = {
        "random_adjust_brightness": {},
        "random_adjust_saturation": {},
        "random_pixel_value_scale": {},
        "adjust_gamma": {"gamma": 2.0},
        "rgb_to_gray": {},
    }
    for name, values in arguments.items():
        augment = getattr(colors, name)
        exact = np.asarray(augment(as_tensors(EXACT), [1, 2], **values).image)
        whole = np.asarray(augment(as_tensors(SAMPLE), [1, 2], **values).image)
        np.testing.assert_allclose(whole, exact, rtol=0, atol=0.5001)


def test_gamma_gray_and_ranges_follow_their_formulas() -> None:
    sample = as_tensors(EXACT)
    gamma = colors.adjust_gamma(sample, [1, 2], gamma=2.0, gain=1.5).image
    np.testing.assert_allclose(
        gamma, np.minimum(1.5 * 255 * (EXACT.image / 255) ** 2, 255), rtol=1e-5, atol=1e-3
    )
    gray = colors.random_rgb_to_gray(sample, [1, 2], probability=1.0).image
    luma = EXACT.image @ np.array([0.2989, 0.587, 0.114])
    np.testing.assert_allclose(gray, np.repeat(luma[..., None], 3, axis=-1), rtol=1e-5)
    assert colors.rgb_to_gray(sample, [1, 2]).image.shape == (12, 15, 1)
    scaled = colors.normalize_image(
        sample, [1, 2], original_maxval=255.0, target_minval=-1.0, target_maxval=1.0
    ).image
    np.testing.assert_allclose(scaled, EXACT.image / 127.5 - 1.0, atol=1e-5)
    centerd = colors.subtract_channel_mean(sample, [1, 2], means=(1.0, 2.0, 3.0)).image
    np.testing.assert_allclose(centerd, EXACT.image - [1.0, 2.0, 3.0], atol=1e-5)


def test_every_pixel_is_scaled_by_its_own_factor() -> None:
    image = images("random_pixel_value_scale", minval=0.5, maxval=0.9)[0]
    factors = image[EXACT.image > 0] / EXACT.image[EXACT.image > 0]
    assert factors.min() >= 0.5
    assert factors.max() <= 0.9
    assert len(np.unique(np.round(factors, 5))) > 400


def test_the_ordering_of_a_distortion_matters() -> None:
    first = images("random_distort_color", color_ordering=0)[0]
    second = images("random_distort_color", color_ordering=1)[0]
    assert np.abs(first - second).max() > 1.0


def test_impossible_settings_are_refused() -> None:
    sample = as_tensors(EXACT)
    with pytest.raises(HoldfastError, match="both 0"):
        colors.normalize_image(sample, [1, 2])
    with pytest.raises(HoldfastError, match="0 means for 3 channels"):
        colors.subtract_channel_mean(sample, [1, 2])
    with pytest.raises(HoldfastError, match="color_ordering is 2"):
        colors.random_distort_color(sample, [1, 2], color_ordering=2)
