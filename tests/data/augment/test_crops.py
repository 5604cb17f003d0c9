"""Crops keep the right objects, at the right places, as often as asked."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from holdfast.data.augment import Augmentation
from holdfast.data.augment.crops import (
    random_crop_image,
    random_crop_to_aspect_ratio,
    random_square_crop_by_scale,
)
from holdfast.data.sample import Sample
from holdfast.errors import HoldfastError

from .scenes import as_tensors, augmented, map_of_places, places_shown, scene, without_optional

SIDES = np.array([60, 84, 60, 84])


def crops(augment: Augmentation, count: int, **arguments: Any) -> list[Sample]:
    sample = without_optional(scene())._replace(image=map_of_places())
    return augmented([sample] * count, [(n, 1) for n in range(count)], augment, **arguments)


def expected_boxes(
    window: np.ndarray, overlap: float, clip: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Say, slowly and in pixels, which objects stay and where they are."""
    numbers, boxes = [], []
    for number, box in enumerate(np.round(scene().boxes * SIDES)):
        height, width = np.maximum(np.minimum(box, window)[2:] - np.maximum(box, window)[:2], 0)
        part = height * width / ((box[2] - box[0]) * (box[3] - box[1]))
        if part > 0 and part >= overlap - 1e-6:
            corner, size = window[:2], window[2:] - window[:2]
            moved = (box - np.tile(corner, 2)) / np.tile(size, 2)
            numbers.append(number)
            boxes.append(np.clip(moved, 0, 1) if clip else moved)
    return np.array(numbers), np.array(boxes).reshape(-1, 4)


@pytest.mark.parametrize(
    ("augment", "overlap", "clip"),
    [
        (partial(random_crop_image, min_object_covered=0.2), 0.3, True),
        (partial(random_crop_image, overlap_thresh=0.0, min_object_covered=0.0), 0.0, True),
        (partial(random_crop_image, overlap_thresh=1.0, min_object_covered=0.1), 1.0, True),
        (partial(random_crop_image, clip_boxes=False, min_object_covered=0.1), 0.3, False),
        (partial(random_crop_to_aspect_ratio, aspect_ratio=0.7), 0.3, True),
        (partial(random_crop_to_aspect_ratio, aspect_ratio=3.0, overlap_thresh=0.6), 0.6, True),
    ],
)
def test_objects_with_enough_overlap_stay(
    augment: Augmentation, overlap: float, clip: bool
) -> None:
    counts = set()
    for result in crops(augment, 30):
        numbers, boxes = expected_boxes(places_shown(result.image), overlap, clip)
        np.testing.assert_array_equal(result.classes, numbers)
        np.testing.assert_allclose(result.boxes, boxes, rtol=0, atol=1e-5)
        counts.add(len(numbers))
    assert len(counts) > 1


def test_random_coef_is_how_often_the_image_stays_whole() -> None:
    results = crops(random_crop_image, 300, random_coef=0.7, max_area=0.8, min_object_covered=0.1)
    whole = sum(result.image.shape == (60, 84, 3) for result in results)
    assert abs(whole / 300 - 0.7) < 4 * np.sqrt(0.7 * 0.3 / 300)


def test_a_window_obeys_its_ranges_and_covers_a_box() -> None:
    ranges = {"min_aspect_ratio": 0.9, "max_aspect_ratio": 1.2, "min_area": 0.2, "max_area": 0.5}
    for result in crops(random_crop_image, 30, min_object_covered=0.5, **ranges):
        height, width = result.image.shape[:2]
        assert 0.85 < width / height < 1.25
        assert 0.19 < height * width / (60 * 84) < 0.51
        numbers, _ = expected_boxes(places_shown(result.image), 0.45)
        assert len(numbers)


def test_a_crop_to_an_aspect_ratio_is_as_large_as_can_be() -> None:
    for ratio, shape in ((1.0, (60, 60)), (0.5, (60, 30)), (2.0, (42, 84)), (1.4, (60, 84))):
        results = crops(random_crop_to_aspect_ratio, 5, aspect_ratio=ratio)
        assert {result.image.shape[:2] for result in results} == {shape}


def test_a_square_crop_is_black_beyond_the_image() -> None:
    sides = set()
    for result in crops(random_square_crop_by_scale, 40, max_border=20):
        side = result.image.shape[0]
        sides.add(side)
        assert result.image.shape == (side, side, 3)
        top, left, bottom, right = places_shown(result.image)
        rows, columns = np.nonzero(result.image[..., 2])
        corner = np.array([top - rows.min(), left - columns.min()])
        assert len(rows) == (bottom - top) * (right - left)
        # All of the image that lies in the square is shown.
        window = np.concatenate([corner, corner + side])
        np.testing.assert_array_equal(
            [top, left, bottom, right], np.clip(window, [0, 0, 0, 0], SIDES)
        )
        center = corner + side // 2
        assert (center >= 20).all()
        assert (center <= np.array([60, 84]) - 20).all()
        numbers, boxes = expected_boxes(window, 0.0)
        np.testing.assert_array_equal(result.classes, numbers)
        np.testing.assert_allclose(result.boxes, boxes, rtol=0, atol=1e-5)
    assert sides == {int(np.float32(scale) * 84) for scale in np.linspace(0.6, 1.3, 8)}


@pytest.mark.parametrize("size", [(1, 1), (2, 100), (90, 3)])
def test_a_square_crop_of_a_tiny_image_has_pixels(size: tuple[int, int]) -> None:
    tiny = without_optional(scene(num_objects=0))._replace(image=map_of_places(*size))
    for seed in range(4):
        result = random_square_crop_by_scale(as_tensors(tiny), [seed, 1], max_border=128)
        assert min(result.image.shape[:2]) >= 1


@pytest.mark.parametrize(
    "ranges", [{"min_aspect_ratio": 0.0}, {"min_area": 0.0}, {"max_area": 1.5}]
)
def test_ranges_that_no_window_can_have_are_refused(ranges: dict[str, float]) -> None:
    with pytest.raises(HoldfastError, match="random crop has"):
        random_crop_image(as_tensors(scene()), [1, 2], **ranges)
