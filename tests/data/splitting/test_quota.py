from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.splitting.quota import choose_counts, nearest_total, wanted_images

SIZES = st.dictionaries(st.integers(1, 9), st.integers(1, 5), min_size=1, max_size=4)


def all_totals(sizes):
    """Every number of images that whole groups add up to, by trying all."""
    counts = product(*(range(count + 1) for count in sizes.values()))
    return {sum(np.multiply(list(sizes), chosen).tolist()) for chosen in counts}


@given(SIZES, st.integers(0, 60))
def test_the_total_is_the_nearest_of_all_that_leave_neither_side_empty(sizes, wanted):
    images = sum(size * count for size, count in sizes.items())
    possible = all_totals(sizes) - {0, images}
    total = nearest_total(sizes, wanted)
    if not possible:
        assert total == 0
    else:
        assert total in possible
        assert abs(total - wanted) == min(abs(one - wanted) for one in possible)


@given(SIZES, st.data())
def test_the_counts_add_up_exactly(sizes, data):
    total = data.draw(st.sampled_from(sorted(all_totals(sizes))))
    seed = data.draw(st.integers(0, 9))
    counts = choose_counts(sizes, total, 0.3, np.random.default_rng(seed))
    assert sum(size * count for size, count in counts.items()) == total
    assert all(0 <= counts[size] <= sizes[size] for size in sizes)


def test_a_group_has_the_same_chance_whatever_its_size():
    sizes, chosen = {1: 200, 5: 20, 30: 1}, Counter()
    for seed in range(400):
        chosen.update(choose_counts(sizes, 66, 0.2, np.random.default_rng(seed)))
    assert {size: chosen[size] / 400 / count for size, count in sizes.items()} == pytest.approx(
        dict.fromkeys(sizes, 0.2), abs=0.05
    )


@given(st.integers(0, 500), st.floats(0, 0.99))
def test_what_is_wanted_is_within_one_image_of_the_share(images, share):
    wanted = wanted_images(images, share)
    assert abs(wanted - share * images) <= 1
    assert wanted == 0 or 0 < wanted < images
    if share == 0:
        assert wanted == 0
