"""Scaled images have the right size, and the right pixels in them."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.data.augment.scales import (
    random_downscale_to_target_pixels,
    random_image_scale,
    random_resize_method,
    random_scale_crop_and_pad_to_square,
    resize_image,
)
from holdfast.data.input.resize import Interpolation, fixed_shape
from holdfast.errors import HoldfastError

from .scenes import as_float, as_tensors, augmented, map_of_places, scene

SEEDS = [(number, 4) for number in range(40)]
SAMPLE = scene()


def test_an_image_is_scaled_alike_in_both_directions() -> None:
    results = augmented([SAMPLE] * 40, SEEDS, random_image_scale)
    heights, widths = np.array([result.image.shape[:2] for result in results]).T
    assert heights.min() < 40
    assert heights.max() > 100
    for height, width in zip(heights, widths, strict=True):
        # One factor explains both sides, each rounded down.
        low, high = max(height / 60, width / 84), min((height + 1) / 60, (width + 1) / 84)
        assert low <= high + 1e-6
        assert high >= 0.5
        assert low <= 2.0


def test_scaling_an_image_keeps_its_corner_pixels() -> None:
    places = as_float(SAMPLE._replace(image=map_of_places()))
    result = augmented([places], [(3, 4)], random_image_scale)[0]
    np.testing.assert_allclose(result.image[0, 0], [1, 1, 255], atol=1e-3)
    np.testing.assert_allclose(result.image[-1, -1], [60, 84, 255], atol=1e-3)


def test_downscaling_reaches_the_target_and_never_enlarges() -> None:
    for result in augmented(
        [SAMPLE] * 20,
        SEEDS[:20],
        random_downscale_to_target_pixels,
        min_target_pixels=2000,
        max_target_pixels=8000,
    ):
        height, width = result.image.shape[:2]
        assert 2000 * 0.93 <= height * width <= 60 * 84
    whole = random_downscale_to_target_pixels(as_tensors(SAMPLE), [1, 2])
    assert whole.image.shape == (60, 84, 3)


def test_the_methods_of_a_random_resize_are_the_four_and_equally_often() -> None:
    size = {"height": 31, "width": 97}
    expected = [
        fixed_shape(as_float(SAMPLE).image, resize_method=method, **size).image
        for method in Interpolation
    ]
    results = augmented(
        [as_float(SAMPLE)] * 40, SEEDS, random_resize_method, target_height=31, target_width=97
    )
    chosen = [
        [np.allclose(result.image, image, atol=1e-3) for image in expected].index(True)
        for result in results
    ]
    assert np.bincount(chosen, minlength=4).min() >= 3


def test_a_square_holds_the_scaled_image_in_its_corner() -> None:
    same_scale = {"output_size": 42, "scale_min": 0.5, "scale_max": 0.5}
    sample = as_float(SAMPLE)
    square = random_scale_crop_and_pad_to_square(as_tensors(sample), [1, 2], **same_scale)
    expected = fixed_shape(sample.image, height=15, width=21).image
    np.testing.assert_allclose(square.image[:15, :21], expected, atol=1e-3)
    assert np.count_nonzero(square.image) == np.count_nonzero(expected)
    assert square.image.shape == (42, 42, 3)
    np.testing.assert_allclose(square.boxes, sample.boxes * np.tile([15 / 42, 21 / 42], 2))


def test_a_square_shows_a_random_part_of_a_larger_image() -> None:
    same_scale = {"output_size": 42, "scale_min": 2.0, "scale_max": 2.0}
    corners = set()
    sample = SAMPLE._replace(image=map_of_places())
    for result in augmented(
        [sample] * 20, SEEDS[:20], random_scale_crop_and_pad_to_square, **same_scale
    ):
        corner = tuple(result.image[0, 0, :2] - 1)  # the image has its own size at this scale
        corners.add(corner)
        boxes = result.boxes * 42 + np.tile(corner, 2)
        inside = np.clip(
            SAMPLE.boxes[result.classes] * [60, 84, 60, 84],
            np.tile(corner, 2),
            np.tile(corner, 2) + 42,
        )
        np.testing.assert_allclose(boxes, inside, rtol=0, atol=1e-3)
    assert len(corners) > 10


def test_a_missing_size_is_refused() -> None:
    with pytest.raises(HoldfastError, match="new_width is 0"):
        resize_image(as_tensors(SAMPLE), [1, 2], new_height=5)
    with pytest.raises(HoldfastError, match="target_height is 0"):
        random_resize_method(as_tensors(SAMPLE), [1, 2], target_width=5)
    with pytest.raises(HoldfastError, match="pixels"):
        random_downscale_to_target_pixels(as_tensors(SAMPLE), [1, 2], min_target_pixels=0)
