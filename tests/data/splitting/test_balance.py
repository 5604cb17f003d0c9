from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from holdfast.data.splitting.balance import choose_groups, scaled_features
from holdfast.data.splitting.contents import Contents


def choose(contents, groups, counts, *, allowed=None, seed=0):
    allowed = [True] * len(groups) if allowed is None else allowed
    return choose_groups(contents, groups, counts, allowed, np.random.default_rng(seed))


def discrepancy(contents, groups, chosen, share):
    return float((scaled_features(contents, groups, share)[sorted(chosen)].sum(axis=0) ** 2).sum())


@pytest.fixture
def crowds():
    """200 images with very different numbers of objects of 4 classes."""
    random = np.random.default_rng(5)
    return [
        Contents(
            {int(number): int(random.geometric(0.2)) for number in random.choice(4, 2, False)},
            random.beta(1, 5, 6).tolist(),
        )
        for _ in range(200)
    ]


def test_a_random_split_has_a_discrepancy_of_one_on_average(crowds):
    alone, random = [[image] for image in range(200)], np.random.default_rng(0)
    found = [discrepancy(crowds, alone, random.permutation(200)[:40], 0.2) for _ in range(400)]
    assert np.mean(found) == pytest.approx(1, abs=0.1)


def test_the_sides_are_far_more_alike_than_by_chance(crowds):
    alone = [[image] for image in range(200)]
    for seed in range(10):
        chosen = choose(crowds, alone, {1: 40}, seed=seed)
        assert len(chosen) == 40
        assert discrepancy(crowds, alone, chosen, 0.2) <= 0.265


def test_groups_are_exchanged_for_groups_of_their_size(crowds):
    groups = [[image, image + 1, image + 2] for image in range(0, 120, 3)]
    groups += [[image] for image in range(120, 200)]
    for seed in range(5):
        chosen = choose(crowds, groups, {3: 8, 1: 16}, seed=seed)
        assert Counter(len(groups[group]) for group in chosen) == {3: 8, 1: 16}


def test_a_class_of_two_images_comes_onto_both_sides():
    contents = [Contents({0: 1})] * 98 + [Contents({0: 1, 1: 1})] * 2
    alone = [[image] for image in range(100)]
    for seed in range(20):
        assert len(choose(contents, alone, {1: 10}, seed=seed) & {98, 99}) == 1


def test_the_only_image_of_a_class_leaves_val_though_it_was_allowed_there():
    contents = [Contents({0: 1})] * 9 + [Contents({1: 1})]
    alone = [[image] for image in range(10)]
    assert all(9 not in choose(contents, alone, {1: 5}, seed=seed) for seed in range(20))


def test_images_without_anything_are_chosen_by_chance():
    contents = [Contents({})] * 10
    alone = [[image] for image in range(10)]
    found = {frozenset(choose(contents, alone, {1: 2}, seed=seed)) for seed in range(10)}
    assert all(len(chosen) == 2 for chosen in found)
    assert len(found) > 4
