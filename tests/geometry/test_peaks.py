"""Peaks are found where no neighbor is higher, the highest first."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from holdfast.geometry.peaks import find_channel_peaks, find_peaks, only_peaks


def oracle(scores: np.ndarray, kernel: int) -> np.ndarray:
    """Keep what is the highest of its square, by looking at every square."""
    reach, result = kernel // 2, np.zeros_like(scores)
    for y, x, channel in np.ndindex(*scores.shape):
        square = scores[max(y - reach, 0) : y + reach + 1, max(x - reach, 0) : x + reach + 1]
        if scores[y, x, channel] >= square[..., channel].max():
            result[y, x, channel] = scores[y, x, channel]
    return result


@pytest.mark.parametrize("kernel", [1, 3, 5])
def test_only_the_highest_of_a_neighborhood_is_a_peak(kernel):
    scores = np.random.default_rng(kernel).random((6, 7, 2)).astype(np.float32)
    found = only_peaks(scores[None], kernel)
    np.testing.assert_array_equal(found[0], scores if kernel == 1 else oracle(scores, kernel))


def test_peaks_of_all_channels_come_by_falling_score():
    scores = np.random.default_rng(0).random((2, 6, 7, 3)).astype(np.float32)
    found = find_peaks(scores, kernel_size=3, count=5)
    for image in range(2):
        peaks = oracle(scores[image], 3)
        best = np.argsort(-peaks, axis=None, kind="stable")[:5]
        y, x, channel = np.unravel_index(best, peaks.shape)
        np.testing.assert_array_equal(found.scores[image], peaks[y, x, channel])
        np.testing.assert_array_equal(found.cells[image], y * 7 + x)
        np.testing.assert_array_equal(found.channels[image], channel)


def test_each_channel_has_its_own_peaks():
    scores = np.random.default_rng(1).random((1, 4, 5, 2)).astype(np.float32)
    found = find_channel_peaks(scores, kernel_size=1, count=3)
    for channel in range(2):
        flat = scores[0, :, :, channel].ravel()
        np.testing.assert_array_equal(found.cells[0, channel], np.argsort(-flat)[:3])


@pytest.mark.parametrize("is_known", [True, False])
def test_a_map_with_fewer_cells_is_filled_up_with_zeros(is_known):
    shape = (1, 2, 2, 1) if is_known else (1, None, None, 1)
    run = tf.function(
        lambda scores: find_peaks(scores, kernel_size=1, count=6),
        input_signature=[tf.TensorSpec(shape)],
        autograph=False,
    )
    found = run(np.array([[[[0.4], [0.3]], [[0.2], [0.1]]]], np.float32))
    np.testing.assert_allclose(found.scores, [[0.4, 0.3, 0.2, 0.1, 0.0, 0.0]])
    np.testing.assert_array_equal(found.cells[0, :4], [0, 1, 2, 3])
    assert np.asarray(found.cells).max() < 4
