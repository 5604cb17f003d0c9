"""Heatmaps are drawn as the OD API draws them, by a slow oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.geometry.heatmaps import (
    box_deviations,
    center_heatmaps,
    keypoint_heatmaps,
    outside_of_boxes,
)

SHAPE = (9, 12)


def gaussian(y: float, x: float, deviation: float) -> np.ndarray:
    rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]]
    distance = (rows - np.floor(y)) ** 2 + (columns - np.floor(x)) ** 2
    return np.exp(-distance / (2 * deviation**2))


def points_and_weights(seed: int, *shape: int) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(seed)
    points = random.uniform(0, [SHAPE[0] - 0.01, SHAPE[1] - 0.01], (*shape, 2))
    deviations = random.uniform(0.2, 3.0, shape)
    weights = random.choice([0.0, 0.5, 1.0], shape)
    return tuple(each.astype(np.float32) for each in (points, deviations, weights))


@given(
    height=st.floats(0.0, 200.0), width=st.floats(0.0, 200.0), overlap=st.sampled_from([0.3, 0.7])
)
def test_the_deviation_is_that_of_the_smallest_of_three_radii(height, width, overlap):
    area, perimeter = height * width, height + width

    def root(a: float, b: float, c: float) -> float:
        return (-b + np.sqrt(max(b * b - 4 * a * c, 0.0))) / 2

    radius = min(
        root(1, -perimeter, area * (1 - overlap) / (1 + overlap)),
        root(4, -2 * perimeter, (1 - overlap) * area),
        root(4 * overlap, 2 * overlap * perimeter, (overlap - 1) * area),
    )
    found = float(box_deviations(np.float32(height), np.float32(width), min_overlap=overlap))
    steps = [(2 * max(np.floor(radius + shift), 0) + 1) / 6 for shift in (-1e-3, 1e-3)]
    assert min(abs(found - step) for step in steps) < 1e-5


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 1000))
def test_the_highest_gaussian_of_a_channel_counts(seed):
    points, deviations, weights = points_and_weights(seed, 2, 4)
    channels = np.random.default_rng(seed).integers(0, 3, (2, 4)).astype(np.int32)
    expected = np.zeros((2, *SHAPE, 3))
    for image, box in np.ndindex(2, 4):
        drawn = gaussian(*points[image, box], deviations[image, box]) * weights[image, box]
        channel = expected[image, :, :, channels[image, box]]
        np.maximum(channel, drawn, out=channel)
    found = center_heatmaps(points, deviations, channels, weights, SHAPE, 3)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_peak_is_exactly_one():
    points = np.array([[[3.7, 5.2]]], np.float32)
    one = np.ones((1, 1), np.float32)
    found = np.asarray(center_heatmaps(points, one, np.zeros((1, 1), np.int32), one, SHAPE, 1))
    assert found[0, 3, 5, 0] == 1.0
    assert (found == 1.0).sum() == 1


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 1000))
def test_every_keypoint_has_its_own_channel(seed):
    points, deviations, weights = points_and_weights(seed, 2, 4, 3)
    expected = np.zeros((2, *SHAPE, 3))
    for image, box, keypoint in np.ndindex(2, 4, 3):
        place = image, box, keypoint
        drawn = gaussian(*points[place], deviations[place]) * weights[place]
        channel = expected[image, :, :, keypoint]
        np.maximum(channel, drawn, out=channel)
    found = keypoint_heatmaps(points, deviations, weights, SHAPE)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("rows", [0, 3])
def test_nothing_labeled_draws_nothing(rows):
    points, deviations, weights = points_and_weights(0, 2, rows, 3)
    found = keypoint_heatmaps(points, deviations, np.zeros_like(weights), SHAPE)
    np.testing.assert_array_equal(found, np.zeros((2, *SHAPE, 3)))


def test_cells_in_dark_boxes_do_not_count():
    boxes = np.array([[[1.0, 2.0, 4.0, 5.5], [0.0, 0.0, 0.0, 0.0]]], np.float32)
    is_dark = np.array([[[True, False], [True, True]]])
    found = np.asarray(outside_of_boxes(boxes, is_dark, SHAPE))
    expected = np.ones((1, *SHAPE, 2))
    expected[0, 1:4, 2:6, 0] = 0
    np.testing.assert_array_equal(found, expected)
