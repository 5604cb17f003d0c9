"""Clusters of box shapes lie where the boxes are."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holdfast.geometry.shape_clusters import cluster_shapes, shape_ious

SHAPES = st.lists(st.tuples(st.floats(1, 500), st.floats(1, 500)), min_size=1, max_size=40).map(
    np.array
)


@given(SHAPES, st.integers(1, 6), st.integers(0, 3))
def test_centers_lie_between_the_boxes_and_rise(shapes, count, seed):
    centers = cluster_shapes(shapes, count, seed=seed)
    assert 1 <= len(centers) <= count
    assert (centers >= shapes.min(axis=0) - 1e-9).all()
    assert (centers <= shapes.max(axis=0) + 1e-9).all()
    assert (np.diff(centers.prod(axis=1)) >= -1e-6).all()
    np.testing.assert_array_equal(centers, cluster_shapes(shapes, count, seed=seed))


def test_three_kinds_of_boxes_are_found():
    draw = np.random.default_rng(0)
    kinds = np.array([[10.0, 10.0], [20.0, 80.0], [100.0, 50.0]])
    shapes = np.concatenate([kind * draw.uniform(0.9, 1.1, (50, 2)) for kind in kinds])
    centers = cluster_shapes(shapes, 3)
    assert shape_ious(kinds, centers).max(axis=1).min() > 0.9


def test_a_rare_kind_with_more_weight_has_a_center():
    shapes = np.array([[100.0, 100.0]] * 99 + [[90.0, 110.0]] * 99 + [[10.0, 10.0]])
    weights = np.array([1.0] * 198 + [100.0])
    assert shape_ious(shapes[-1:], cluster_shapes(shapes, 2, weights=weights)).max() > 0.9
