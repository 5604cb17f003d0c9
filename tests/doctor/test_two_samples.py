from __future__ import annotations

import numpy as np
import pytest

from holdfast.doctor.two_samples import compare_counts, compare_numbers


@pytest.mark.parametrize("shift", [0.0, 0.5, 1.0])
def test_the_probability_is_that_of_permutations(shift: float):
    random = np.random.default_rng(3)
    first, second = random.normal(0, 1, 40), random.normal(shift, 1, 30)
    compared = compare_numbers(first, second)
    every = np.concatenate([first, second])
    farther = 0
    for _ in range(2000):
        mixed = random.permutation(every)
        farther += compare_numbers(mixed[:40], mixed[40:]).distance >= compared.distance
    assert compared.probability == pytest.approx(farther / 2000, abs=0.08)


def test_the_distance_is_the_largest_difference_of_shares():
    first, second = np.array([1.0, 2.0, 3.0, 4.0]), np.array([3.5, 4.5, 5.0])
    places = np.arange(0, 6, 0.25)
    shares = [abs((first <= place).mean() - (second <= place).mean()) for place in places]
    assert compare_numbers(first, second).distance == pytest.approx(max(shares))


def test_equal_numbers_are_no_shift():
    compared = compare_numbers(np.full(20, 640.0), np.full(30, 640.0))
    assert compared == (0.0, 1.0)


def test_objects_of_one_image_do_not_make_a_shift_certain():
    # One image with fifty bars among images with a disc each: far apart, and yet by chance.
    first = np.array([[0, 50], *[[1, 0]] * 9])
    second = np.array([[1, 0]] * 10)
    compared = compare_counts(first, second)
    assert compared.distance > 0.8
    assert compared.probability > 0.2


def test_other_classes_in_every_image_are_a_shift():
    compared = compare_counts(np.array([[1, 0]] * 12), np.array([[0, 1]] * 12))
    assert compared.distance == 1.0
    assert compared.probability < 0.01
