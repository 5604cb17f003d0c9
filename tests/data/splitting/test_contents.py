from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.splitting.contents import Contents, features_of

IMAGE = st.builds(
    Contents,
    st.dictionaries(st.integers(0, 5), st.integers(1, 9), max_size=3),
    st.lists(st.floats(0, 1), max_size=5),
)


@given(st.lists(IMAGE, min_size=1, max_size=20))
def test_every_feature_counts_something(contents):
    by_class, on_images, objects, by_number, by_size = features_of(contents)
    totals = [sum(one.class_counts.values()) for one in contents]
    assert by_class.sum(axis=1).tolist() == totals == objects[:, 0].tolist()
    assert on_images.sum(axis=1).tolist() == [len(one.class_counts) for one in contents]
    # The sums are the cumulative distributions: none falls, and of sizes all are 0 over the whole.
    assert (np.diff(by_number, axis=1) >= 0).all()
    assert set(np.unique(by_number)) <= {0.0, 1.0}
    assert by_size.sum(axis=0) == pytest.approx(0, abs=1e-9)


def test_images_with_few_and_with_many_objects_are_told_apart():
    *_, by_number, _ = features_of([Contents({0: count}) for count in (1, 1, 1, 2, 3, 50)])
    assert by_number[0].tolist() == by_number[1].tolist()
    assert by_number[0].tolist() != by_number[3].tolist() != by_number[5].tolist()


def test_small_and_large_boxes_are_told_apart():
    *_, by_size = features_of([Contents({0: 2}, (0.01, 0.02)), Contents({0: 2}, (0.5, 0.6))])
    assert (by_size[0] >= 0).all()
    assert (by_size[1] <= 0).all()
    assert by_size[0].max() == 1  # both of two boxes are below the middle, where 1 is usual


def test_an_area_that_is_not_a_number_is_not_counted():
    images = [Contents({0: 1}, (0.5,)), Contents({0: 1}, (0.1,))]
    with_nan = [Contents({0: 2}, (0.5, math.nan)), images[1]]
    assert features_of(with_nan)[-1].tolist() == features_of(images)[-1].tolist()


def test_of_very_many_classes_the_most_common_are_compared():
    contents = [Contents({number: 1, number + 1: 1}) for number in range(500)]
    by_class, *_ = features_of([*contents, Contents({7: 3})])
    assert by_class.shape[1] == 100
    assert by_class[-1].sum() == 3
    assert np.isfinite(by_class).all()
