"""The SSD crops choose one rule for each image, and follow it."""

from __future__ import annotations

import dataclasses

import numpy as np

from holdfast.data.augment.crops import Crop, FixedAspectRatioCrop
from holdfast.data.augment.ssd_crops import (
    DEFAULT_CROP_PADS,
    DEFAULT_CROPS,
    CropPad,
    ssd_random_crop,
    ssd_random_crop_fixed_aspect_ratio,
    ssd_random_crop_pad,
    ssd_random_crop_pad_fixed_aspect_ratio,
)

from .scenes import augmented, map_of_places, scene, without_optional

SAMPLE = without_optional(scene())._replace(image=map_of_places())
TALL = Crop(min_aspect_ratio=0.5, max_aspect_ratio=0.5, min_area=0.2, max_area=0.3)
WIDE = dataclasses.replace(TALL, min_aspect_ratio=3.0, max_aspect_ratio=3.0)


def seeds(count: int) -> list[tuple[int, int]]:
    return [(number, 3) for number in range(count)]


def test_each_rule_is_chosen_equally_often() -> None:
    rules = (TALL, WIDE, dataclasses.replace(WIDE, random_coef=1.0))
    results = augmented([SAMPLE] * 300, seeds(300), ssd_random_crop, operations=rules)
    ratios = np.array([result.image.shape[1] / result.image.shape[0] for result in results])
    for is_kind in (ratios < 0.7, ratios > 2.5, np.abs(ratios - 84 / 60) < 1e-6):
        assert abs(is_kind.mean() - 1 / 3) < 4 * np.sqrt(2 / 9 / 300)


def test_a_config_without_rules_gets_those_of_the_paper() -> None:
    overlaps = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
    assert [crop.min_object_covered for crop in DEFAULT_CROPS] == overlaps
    assert [crop.overlap_thresh for crop in DEFAULT_CROPS] == overlaps
    assert [crop.overlap_thresh for crop in DEFAULT_CROP_PADS] == overlaps[1:]
    for crop in (*DEFAULT_CROPS, *DEFAULT_CROP_PADS):
        assert (crop.min_aspect_ratio, crop.max_aspect_ratio) == (0.5, 2.0)
        assert (crop.min_area, crop.max_area, crop.random_coef) == (0.1, 1.0, 0.15)


def test_each_rule_has_its_own_overlap_and_clipping() -> None:
    strict = dataclasses.replace(TALL, overlap_thresh=1.0)
    loose = dataclasses.replace(WIDE, clip_boxes=False)
    results = augmented([SAMPLE] * 40, seeds(40), ssd_random_crop, operations=(strict, loose))
    beyond = [bool(((r.boxes < 0) | (r.boxes > 1)).any()) for r in results]
    is_wide = [r.image.shape[1] > r.image.shape[0] for r in results]
    assert any(beyond)
    assert not any(out and not wide for out, wide in zip(beyond, is_wide, strict=True))


def test_padding_is_black_for_a_rule_and_the_average_for_none() -> None:
    rule = CropPad(**(vars(TALL) | {"random_coef": 1.0}), min_padded_size_ratio=(1.5, 1.5))
    for result in augmented([SAMPLE] * 4, seeds(4), ssd_random_crop_pad, operations=(rule,)):
        assert result.image.shape >= (90, 126, 3)
        assert (result.image[result.image[..., 2] != 255] == 0).all()
    for result in augmented([SAMPLE] * 12, seeds(12), ssd_random_crop_pad):
        assert (result.image[..., 2] == 255).all()  # every pixel has this blue, so has the average


def test_one_aspect_ratio_holds_for_cropped_and_whole_images() -> None:
    rule = FixedAspectRatioCrop(min_area=0.3, max_area=0.8, random_coef=0.5)
    results = augmented(
        [SAMPLE] * 20,
        seeds(20),
        ssd_random_crop_fixed_aspect_ratio,
        operations=(rule,),
        aspect_ratio=0.8,
    )
    shapes = {result.image.shape[:2] for result in results}
    assert (60, 48) in shapes
    assert len(shapes) > 3
    assert all(abs(width / height - 0.8) < 0.03 for height, width in shapes)


def test_padding_to_an_aspect_ratio_fills_bottom_and_right_with_black() -> None:
    results = augmented(
        [SAMPLE] * 20, seeds(20), ssd_random_crop_pad_fixed_aspect_ratio, aspect_ratio=2.0
    )
    for result in results:
        height, width = result.image.shape[:2]
        assert abs(width - 2.0 * height) <= 2
        rows, columns = np.nonzero(result.image[..., 2])
        assert (rows.min(), columns.min()) == (0, 0)
        assert len(rows) == (rows.max() + 1) * (columns.max() + 1)
        # No side is more than doubled, but for the one that the aspect ratio stretches.
        assert min(height / (rows.max() + 1), width / (columns.max() + 1)) < 2.05
