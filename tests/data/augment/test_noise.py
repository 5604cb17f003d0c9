"""Damage is where and what it should be."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from holdfast.data.augment.noise import (
    random_black_patches,
    random_jpeg_quality,
    random_patch_gaussian,
)
from holdfast.errors import HoldfastError

from .scenes import as_float, as_tensors, augmented, scene

WHITE = scene(num_objects=0)._replace(image=np.full((60, 84, 3), 200, np.uint8))
SEEDS = [(number, 6) for number in range(200)]


def test_black_patches_are_squares_inside_the_image() -> None:
    for result in augmented(
        [WHITE] * 20,
        SEEDS[:20],
        random_black_patches,
        max_black_patches=1,
        probability=1.0,
        size_to_image_ratio=0.25,
    ):
        rows, columns, _ = np.nonzero(result.image == 0)
        assert len(rows) == 15 * 15 * 3
        assert (np.ptp(rows), np.ptp(columns)) == (14, 14)


def test_each_black_patch_comes_with_its_probability() -> None:
    results = augmented(
        [WHITE] * 200,
        SEEDS,
        random_black_patches,
        max_black_patches=2,
        probability=0.3,
        size_to_image_ratio=0.05,
    )
    untouched = np.mean([(result.image == 200).all() for result in results])
    assert abs(untouched - 0.7**2) < 4 * np.sqrt(0.25 / 200)


def test_noise_stays_in_a_patch_of_the_asked_size_and_strength() -> None:
    sample = as_float(WHITE)._replace(image=np.full((60, 84, 3), 128, np.float32))
    deviations = []
    for result in augmented(
        [sample] * 20,
        SEEDS[:20],
        random_patch_gaussian,
        min_patch_size=20,
        max_patch_size=21,
        min_gaussian_stddev=0.05,
        max_gaussian_stddev=0.1,
    ):
        changed = (result.image != 128).all(axis=-1)
        rows, columns = np.nonzero(changed)
        for places, side in ((rows, 60), (columns, 84)):
            touches = places.min() == 0 or places.max() == side - 1
            assert np.ptp(places) == 19 or (touches and 9 <= np.ptp(places) <= 19)
        assert len(rows) == (np.ptp(rows) + 1) * (np.ptp(columns) + 1)
        deviations.append(result.image[changed].std() / 255)
    assert min(deviations) > 0.045
    assert max(deviations) < 0.11


def test_jpeg_artifacts_are_those_of_an_encoder() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (40, 48, 3)).astype(np.uint8)
    sample = as_tensors(WHITE._replace(image=noise, masks=None))
    result = random_jpeg_quality(sample, [1, 2], min_jpeg_quality=30, max_jpeg_quality=31)
    file = io.BytesIO()
    Image.fromarray(noise).save(file, "JPEG", quality=30)
    expected = np.asarray(Image.open(file)).astype(np.float32)
    difference = np.abs(np.asarray(result.image).astype(np.float32) - expected)
    assert difference.mean() < 3.0  # the two decoders use other inverse transforms
    assert np.abs(noise - expected).mean() > 20.0


def test_a_patch_without_pixels_is_refused() -> None:
    with pytest.raises(HoldfastError, match="min_patch_size is 0"):
        random_patch_gaussian(as_tensors(WHITE), [1, 2], min_patch_size=0)
