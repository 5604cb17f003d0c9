"""Class weights make rare classes count more and leave the loss its size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.losses.class_weights import balanced_class_weights


@given(st.lists(st.integers(0, 1000), min_size=1))
def test_balanced_classes_add_up_to_the_same_and_boxes_to_a_mean_of_one(counts):
    weights = balanced_class_weights(counts)
    shares = [weight * count for weight, count in zip(weights, counts, strict=True) if count]
    assert all(share == pytest.approx(shares[0]) for share in shares)
    assert sum(shares) == pytest.approx(sum(counts))
    assert all(weight == 1.0 for weight, count in zip(weights, counts, strict=True) if not count)
