"""Canvases have the size and color that were asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from holdfast.data.augment.pads import (
    random_absolute_pad_image,
    random_crop_pad_image,
    random_pad_image,
)
from holdfast.errors import HoldfastError

from .scenes import as_float, as_tensors, augmented, map_of_places, places_shown, scene

SAMPLE = scene()._replace(image=map_of_places())
SEEDS = [(number, 9) for number in range(40)]


def test_unset_bounds_are_the_image_and_twice_its_size() -> None:
    results = augmented([SAMPLE] * 40, SEEDS, random_pad_image, pad_color=(0.0, 0.0, 0.0))
    heights, widths = np.array([result.image.shape[:2] for result in results]).T
    assert heights.min() >= 60
    assert heights.max() < 120
    assert widths.min() >= 84
    assert widths.max() < 168
    assert len(set(heights)) > 10
    corners = set()
    for result in results:
        rows, columns = np.nonzero(result.image[..., 2])
        corners.add((rows.min(), columns.min()))
        np.testing.assert_array_equal(places_shown(result.image), [0, 0, 60, 84])
        shown = result.image[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
        np.testing.assert_array_equal(shown, SAMPLE.image)
    assert len(corners) > 10


def test_bounds_below_the_image_are_the_image() -> None:
    bounds = {"max_image_height": 10, "max_image_width": 100}
    results = augmented([SAMPLE] * 40, SEEDS, random_pad_image, **bounds)
    assert {result.image.shape[0] for result in results} == {60}
    assert {result.image.shape[1] for result in results} <= set(range(84, 100))


def test_an_absolute_padding_stays_below_its_bounds() -> None:
    paddings = {"max_height_padding": 3, "max_width_padding": 2}
    results = augmented([SAMPLE] * 40, SEEDS, random_absolute_pad_image, **paddings)
    assert {result.image.shape[:2] for result in results} == {
        (height, width) for height in (60, 61, 62) for width in (84, 85)
    }


@pytest.mark.parametrize("sample", [SAMPLE, as_float(SAMPLE)])
def test_an_unset_color_is_the_average(sample: Any) -> None:
    bounds = {"min_image_height": 100, "min_image_width": 120}
    result = augmented([sample], SEEDS[:1], random_pad_image, **bounds)[0]
    average = SAMPLE.image.reshape(-1, 3).mean(axis=0)
    corners = result.image[[0, 0, -1, -1], [0, -1, 0, -1]].astype(np.float32)
    padding = corners[np.abs(corners - average).max(axis=1) < 1]
    assert len(padding) >= 3
    atol = 0.5 if sample.image.dtype == np.uint8 else 1e-3
    np.testing.assert_allclose(padding, np.tile(average, (len(padding), 1)), rtol=0, atol=atol)


def test_crop_and_pad_takes_its_ratios_of_the_whole_image() -> None:
    results = augmented(
        [SAMPLE] * 40,
        SEEDS,
        random_crop_pad_image,
        min_object_covered=0.1,
        max_area=0.4,
        min_padded_size_ratio=(1.0, 1.0),
        max_padded_size_ratio=(1.2, 1.1),
        pad_color=(0.0, 0.0, 0.0),
    )
    for result in results:
        assert 60 <= result.image.shape[0] < 72
        assert 84 <= result.image.shape[1] < 93
        top, left, bottom, right = places_shown(result.image)
        assert (bottom - top) * (right - left) <= 0.42 * 60 * 84


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"min_image_height": 3}, "only one of"), ({"pad_color": (1.0, 2.0)}, "2 values")],
)
def test_half_a_setting_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(HoldfastError, match=message):
        random_pad_image(as_tensors(SAMPLE), [1, 2], **arguments)
    with pytest.raises(HoldfastError, match="1 values"):
        random_crop_pad_image(as_tensors(SAMPLE), [1, 2], min_padded_size_ratio=(1.0,))
