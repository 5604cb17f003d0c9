from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holdfast.models.necks.resampling import upsample_to


@given(st.integers(1, 9), st.integers(1, 9), st.sampled_from([2, 4]))
def test_each_cell_shows_the_coarse_cell_that_holds_it(height: int, width: int, factor: int):
    target = np.zeros((1, height, width, 2), np.float32)
    coarse = np.random.default_rng(0).normal(size=(1, -(-height // factor), -(-width // factor), 2))
    actual = np.asarray(upsample_to(coarse.astype(np.float32), target, factor))
    assert actual.shape == target.shape
    for y in range(height):
        for x in range(width):
            expected = coarse[0, y // factor, x // factor]
            np.testing.assert_array_equal(actual[0, y, x], expected.astype(np.float32))
