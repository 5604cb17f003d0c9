"""Jittered boxes move as their mode says."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.data.augment.box_changes import (
    JitteredSides,
    random_jitter_boxes,
    scale_boxes_to_pixel_coordinates,
)
from holdfast.errors import HoldfastError

from .scenes import as_tensors, scene

SAMPLE = scene()


def outward(mode: str, ratio: float = 0.2) -> np.ndarray:
    """Give how far each side moved outward, in parts of the half height or width, (S, N, 4)."""
    moved = [
        np.asarray(
            random_jitter_boxes(as_tensors(SAMPLE), [s, 1], ratio=ratio, jitter_mode=mode).boxes
        )
        for s in range(30)
    ]
    half = np.tile((SAMPLE.boxes[:, 2:] - SAMPLE.boxes[:, :2]) / 2, (1, 2))
    return (np.array(moved) - SAMPLE.boxes) / half * [-1, -1, 1, 1]


@pytest.mark.parametrize("mode", JitteredSides)
def test_sides_move_by_at_most_the_ratio_and_only_in_their_direction(mode: JitteredSides) -> None:
    moved = outward(mode)
    assert np.abs(moved).max() <= 0.2 + 1e-5
    assert np.abs(moved).max() > 0.15
    if "EXPAND" in mode:
        assert moved.min() > -1e-5
    if "SHRINK" in mode:
        assert moved.max() < 1e-5


@pytest.mark.parametrize("mode", JitteredSides)
def test_symmetric_modes_keep_the_center_and_xy_the_aspect_ratio(mode: JitteredSides) -> None:
    moved = outward(mode)
    opposite = np.allclose(moved[..., :2], moved[..., 2:], atol=1e-4)
    all_sides = np.allclose(moved, moved[..., :1], atol=1e-4)
    assert opposite == ("SYMMETRIC" in mode)
    assert all_sides == ("XY" in mode)


def test_a_box_at_the_border_stays_in_the_image() -> None:
    boxes = np.array([[0.0, 0.0, 0.5, 1.0], [0.9, 0.5, 1.0, 0.52]], np.float32)
    sample = as_tensors(SAMPLE.with_objects(lambda value: value[:2])._replace(boxes=boxes))
    for mode in JitteredSides:
        result = random_jitter_boxes(sample, [3, 4], ratio=0.9, jitter_mode=mode).boxes.numpy()
        assert result.min() >= 0.0
        assert result.max() <= 1.0
        assert (result[:, 2:] > result[:, :2]).all()


def test_a_ratio_that_turns_boxes_inside_out_is_refused() -> None:
    with pytest.raises(HoldfastError, match="inside out"):
        random_jitter_boxes(as_tensors(SAMPLE), [1, 2], ratio=1.5)


def test_pixel_coordinates_are_pixels() -> None:
    result = scale_boxes_to_pixel_coordinates(as_tensors(SAMPLE), [1, 2])
    np.testing.assert_allclose(result.boxes[0], [3, 4, 25, 20], atol=1e-4)
    np.testing.assert_allclose(result.keypoints[0, 0], [14, 12], atol=1e-4)
