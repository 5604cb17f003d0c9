"""Class weights make rare classes count more and leave the loss its size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.losses.class_weights import balanced_class_weights, weigh_by_class


def test_a_box_counts_as_its_class_and_padding_stays_at_zero():
    weights = np.array([[1.0, 0.5, 0.0]], np.float32)
    classes = np.array([[2, 0, 0]], np.int32)
    np.testing.assert_array_equal(
        weigh_by_class(weights, classes, [4.0, 1.0, 0.25]), [[0.25, 2.0, 0.0]]
    )


@given(st.lists(st.integers(0, 1000), min_size=1))
def test_balanced_classes_add_up_to_the_same_and_boxes_to_a_mean_of_one(counts):
    weights = balanced_class_weights(counts)
    shares = [weight * count for weight, count in zip(weights, counts, strict=True) if count]
    assert all(share == pytest.approx(shares[0]) for share in shares)
    assert sum(shares) == pytest.approx(sum(counts))
    assert all(weight == 1.0 for weight, count in zip(weights, counts, strict=True) if not count)
