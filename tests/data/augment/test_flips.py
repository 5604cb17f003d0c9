"""Mirror images and quarter turns, compared with NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.data.augment.flips import (
    random_horizontal_flip,
    random_rotation90,
    random_vertical_flip,
)
from holdfast.errors import HoldfastError

from .scenes import as_arrays, as_tensors, augmented, scene

PERMUTATION = (1, 0, 2)


@pytest.mark.parametrize(("flip", "axis"), [(random_vertical_flip, 0), (random_horizontal_flip, 1)])
def test_a_flip_swaps_partners_and_their_visibilities(flip, axis: int) -> None:
    before = scene()
    before.visibilities[:] = [True, False, True]
    after = as_arrays(
        flip(as_tensors(before), [1, 2], keypoint_flip_permutation=PERMUTATION, probability=1.0)
    )
    np.testing.assert_array_equal(after.image, np.flip(before.image, axis))
    np.testing.assert_array_equal(after.masks, np.flip(before.masks, axis + 1))
    expected = before.keypoints[:, PERMUTATION].copy()
    expected[..., axis] = 1.0 - expected[..., axis]
    np.testing.assert_allclose(after.keypoints, expected, atol=1e-6)
    np.testing.assert_array_equal(after.visibilities[0], [False, True, True])


def test_a_turn_is_that_of_numpy_and_four_are_none() -> None:
    before = scene()
    sample = as_tensors(before)
    turned = as_arrays(random_rotation90(sample, [1, 2], probability=1.0))
    np.testing.assert_array_equal(turned.image, np.rot90(before.image))
    np.testing.assert_array_equal(turned.masks, np.rot90(before.masks, axes=(1, 2)))
    for _ in range(4):
        sample = random_rotation90(sample, [1, 2], probability=1.0)
    for name in ("image", "boxes", "masks", "keypoints"):
        np.testing.assert_allclose(getattr(sample, name), getattr(before, name), atol=1e-6)


def test_the_probability_is_how_often_it_happens() -> None:
    samples = [scene()._replace(keypoints=None, visibilities=None)] * 300
    seeds = [(number, 8) for number in range(300)]
    results = augmented(samples, seeds, random_horizontal_flip, probability=0.2)
    flipped = np.mean([not np.array_equal(r.image, samples[0].image) for r in results])
    assert abs(flipped - 0.2) < 4 * np.sqrt(0.2 * 0.8 / 300)


@pytest.mark.parametrize("flip", [random_horizontal_flip, random_vertical_flip])
def test_keypoints_without_a_permutation_are_refused(flip) -> None:
    with pytest.raises(HoldfastError, match="keypoint_flip_permutation"):
        flip(as_tensors(scene()), [1, 2])
