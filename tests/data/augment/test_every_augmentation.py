"""One contract for every augmentation: what it may change, and what must move together."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from holdfast.config.schema.fields import field_specs
from holdfast.config.schema.preprocessor import PreprocessingStep
from holdfast.data.augment import AUGMENTATIONS, Crop, CropPad, FixedAspectRatioCrop
from holdfast.data.sample import Sample
from holdfast.testing.input_parts import check_boxes, check_objects

from .scenes import (
    OPTIONAL,
    as_arrays,
    as_float,
    as_tensors,
    augmented,
    box_around,
    pixels_of_color,
    scene,
    without_optional,
)

SEEDS = [(number, 5) for number in range(10)]
PER_OBJECT = [field for field in Sample._fields if field not in ("image", "source_id")]
BLACK = (0.0, 0.0, 0.0)  # a crop's average color may be that of an object
SWAP = (1, 0, 2)  # keypoints 0 and 1 are partners
WINDOW = {"min_aspect_ratio": 0.5, "max_aspect_ratio": 2.0, "min_area": 0.2, "max_area": 1.0}


class Kind(StrEnum):
    """What an augmentation does to the picture."""

    MOVES = "moves"  # pixels change place, and boxes, masks and keypoints with them
    PAINTS = "paints"  # pixels change their value: objects stay
    RELABELS = "relabels"  # objects change or go, pixels stay
    BOTH = "both"  # moves and paints


class Case(NamedTuple):
    """How the contract runs an augmentation."""

    kind: Kind
    arguments: Mapping[str, Any] = {}
    nothing: Mapping[str, Any] | None = None  # arguments (over the others) that change nothing
    random: bool = True
    slack: float = 1.5  # pixels by which what is drawn and what is said may differ


CASES = {
    "normalize_image": Case(
        Kind.PAINTS, {"original_maxval": 255.0}, {"target_maxval": 255.0}, random=False
    ),
    "subtract_channel_mean": Case(
        Kind.PAINTS, {"means": (3.0, 2.0, 1.0)}, {"means": (0.0, 0.0, 0.0)}, random=False
    ),
    "rgb_to_gray": Case(Kind.PAINTS, random=False),
    "random_rgb_to_gray": Case(Kind.PAINTS, {"probability": 0.5}, {"probability": 0.0}),
    "random_pixel_value_scale": Case(Kind.PAINTS, {}, {"minval": 1.0, "maxval": 1.0}),
    "adjust_gamma": Case(
        Kind.PAINTS, {"gamma": 2.0, "gain": 0.5}, {"gamma": 1.0, "gain": 1.0}, random=False
    ),
    "random_adjust_brightness": Case(Kind.PAINTS, {}, {"max_delta": 0.0}),
    "random_adjust_contrast": Case(Kind.PAINTS, {}, {"min_delta": 1.0, "max_delta": 1.0}),
    "random_adjust_hue": Case(Kind.PAINTS, {"max_delta": 0.2}, {"max_delta": 0.0}),
    "random_adjust_saturation": Case(
        Kind.PAINTS, {"min_delta": 0.2}, {"min_delta": 1.0, "max_delta": 1.0}
    ),
    "random_distort_color": Case(Kind.PAINTS, {"color_ordering": 1}),
    "random_black_patches": Case(Kind.PAINTS, {}, {"probability": 0.0}),
    "random_patch_gaussian": Case(Kind.PAINTS, {"max_patch_size": 50}, {"random_coef": 1.0}),
    "random_jpeg_quality": Case(Kind.PAINTS, {}, {"random_coef": 1.0}),
    "random_horizontal_flip": Case(
        Kind.MOVES, {"keypoint_flip_permutation": SWAP}, {"probability": 0.0}
    ),
    "random_vertical_flip": Case(
        Kind.MOVES, {"keypoint_flip_permutation": SWAP}, {"probability": 0.0}
    ),
    "random_rotation90": Case(Kind.MOVES, {"keypoint_rot_permutation": SWAP}, {"probability": 0.0}),
    "random_image_scale": Case(Kind.MOVES, {}, {"min_scale_ratio": 1.0, "max_scale_ratio": 1.0}),
    "resize_image": Case(
        Kind.MOVES,
        {"new_height": 97, "new_width": 71},
        {"new_height": 60, "new_width": 84},
        random=False,
    ),
    "random_resize_method": Case(
        Kind.MOVES,
        {"target_height": 97, "target_width": 71},
        {"target_height": 60, "target_width": 84},
    ),
    "random_downscale_to_target_pixels": Case(
        Kind.MOVES, {"min_target_pixels": 1500, "max_target_pixels": 6000}, {"random_coef": 1.0}
    ),
    "random_scale_crop_and_pad_to_square": Case(
        Kind.MOVES, {"output_size": 64, "scale_min": 0.5}, slack=2.0
    ),
    "random_crop_image": Case(
        Kind.MOVES, {"min_object_covered": 0.3, "random_coef": 0.2}, {"random_coef": 1.0}
    ),
    "random_crop_to_aspect_ratio": Case(Kind.MOVES, {"overlap_thresh": 0.1}),
    "random_square_crop_by_scale": Case(Kind.MOVES, {"scale_min": 0.5}),
    "random_pad_image": Case(Kind.MOVES, {}, {"max_image_height": 0, "max_image_width": 0}),
    "random_absolute_pad_image": Case(
        Kind.MOVES,
        {"max_height_padding": 30, "max_width_padding": 20, "pad_color": (9.0, 8.0, 7.0)},
        {"max_height_padding": 0, "max_width_padding": 0},
    ),
    "random_crop_pad_image": Case(
        Kind.MOVES,
        {"min_object_covered": 0.3, "pad_color": BLACK},
        {
            "random_coef": 1.0,
            "max_padded_size_ratio": (1.0, 1.0),
        },
    ),
    "ssd_random_crop": Case(Kind.MOVES, {}, {"operations": (Crop(random_coef=1.0, **WINDOW),)}),
    "ssd_random_crop_pad": Case(
        Kind.MOVES,
        {"operations": (CropPad(min_object_covered=0.3, **WINDOW), CropPad(**WINDOW))},
        {"operations": (CropPad(random_coef=1.0, max_padded_size_ratio=(1.0, 1.0), **WINDOW),)},
    ),
    "ssd_random_crop_fixed_aspect_ratio": Case(
        Kind.MOVES,
        {"operations": (FixedAspectRatioCrop(min_area=0.2, max_area=0.9, random_coef=0.3),)},
        {
            "operations": (FixedAspectRatioCrop(min_area=0.2, max_area=0.9, random_coef=1.0),),
            "aspect_ratio": 1.4,
        },
    ),
    "ssd_random_crop_pad_fixed_aspect_ratio": Case(
        Kind.MOVES,
        {},
        {
            "operations": (Crop(random_coef=1.0, **WINDOW),),
            "aspect_ratio": 1.4,
            "max_padded_size_ratio": (1.0, 1.0),
        },
    ),
    "random_self_concat_image": Case(
        Kind.MOVES,
        {"concat_vertical_probability": 0.5, "concat_horizontal_probability": 0.5},
        {"concat_vertical_probability": 0.0, "concat_horizontal_probability": 0.0},
    ),
    "random_jitter_boxes": Case(Kind.RELABELS, {}, {"ratio": 0.0}),
    "scale_boxes_to_pixel_coordinates": Case(Kind.RELABELS, random=False),
    "drop_label_probabilistically": Case(
        Kind.RELABELS, {"label": 2, "drop_probability": 0.5}, {"drop_probability": 0.0}
    ),
    "remap_labels": Case(
        Kind.RELABELS,
        {"original_labels": (1, 3), "new_label": 4},
        {"original_labels": ()},
        random=False,
    ),
    "convert_class_logits_to_softmax": Case(Kind.RELABELS, random=False),
    "autoaugment_image": Case(Kind.BOTH, {"policy_name": "v0"}),
}
every_case = pytest.mark.parametrize("name", sorted(CASES))
moving_case = pytest.mark.parametrize(
    "name", sorted(name for name, case in CASES.items() if case.kind is Kind.MOVES)
)


@cache
def full_runs(name: str) -> list[Sample]:
    """Run on uint8 with every field, each seed twice, and last on a picture without objects."""
    empty = scene(num_objects=0)
    samples = [scene()] * (2 * len(SEEDS)) + [empty] * 2
    seeds = [*SEEDS, *SEEDS, *SEEDS[:2]]
    return augmented(samples, seeds, AUGMENTATIONS[name], **CASES[name].arguments)


@cache
def bare_runs(name: str) -> list[Sample]:
    """Run on float32 without masks, keypoints and scores."""
    bare = without_optional(as_float(scene()))
    empty = without_optional(as_float(scene(num_objects=0)))
    samples = [bare] * len(SEEDS) + [empty]
    return augmented(samples, [*SEEDS, SEEDS[0]], AUGMENTATIONS[name], **CASES[name].arguments)


def test_every_option_of_the_config_is_registered_and_tested() -> None:
    options = PreprocessingStep.oneofs["preprocessing_step"]
    assert set(AUGMENTATIONS) >= set(options)
    assert sorted(options) == sorted(CASES)


@every_case
def test_keywords_and_defaults_are_those_of_the_config(name: str) -> None:
    message = field_specs(PreprocessingStep)[name].message
    parameters = list(inspect.signature(AUGMENTATIONS[name]).parameters.values())
    assert [parameter.name for parameter in parameters[:2]] == ["sample", "seed"]
    keywords = {parameter.name: parameter for parameter in parameters[2:]}
    fields = field_specs(message)
    assert set(keywords) == set(fields)
    unset_means_more = {"max_target_pixels"}  # 800000, as the OD API really does
    for field in set(fields) - unset_means_more:
        assert keywords[field].kind is inspect.Parameter.KEYWORD_ONLY
        default = keywords[field].default
        schema = getattr(message(), field)
        expected = schema.name if hasattr(schema, "name") else schema
        assert default == expected or (default is None and not schema), field


@every_case
def test_objects_keep_equal_counts_dtypes_and_ranks(name: str) -> None:
    for results, start in ((full_runs(name), scene()), (bare_runs(name), as_float(scene()))):
        for result in results:
            check_objects(result, start)
            assert result.image.ndim == 3


@every_case
def test_absent_fields_stay_absent(name: str) -> None:
    for result in bare_runs(name):
        assert all(getattr(result, field) is None for field in OPTIONAL)


@every_case
def test_the_image_keeps_its_dtype(name: str) -> None:
    floats = ("normalize_image", "subtract_channel_mean")
    assert all(
        result.image.dtype == (np.float32 if name in floats else np.uint8)
        for result in full_runs(name)
    )
    assert all(result.image.dtype == np.float32 for result in bare_runs(name))


@every_case
def test_boxes_stay_inside_and_valid(name: str) -> None:
    if name == "scale_boxes_to_pixel_coordinates":
        pytest.skip("its boxes are in pixels")
    for result in full_runs(name) + bare_runs(name):
        check_boxes(result)


@every_case
def test_a_picture_without_objects_stays_without(name: str) -> None:
    for result in (*full_runs(name)[-2:], bare_runs(name)[-1]):
        assert result.boxes.shape == (0, 4)
        assert result.image.size


@every_case
def test_the_seed_decides(name: str) -> None:
    results = full_runs(name)
    first, second = results[: len(SEEDS)], results[len(SEEDS) : 2 * len(SEEDS)]
    for one, two in zip(first, second, strict=True):
        assert same(one, two)
    differ = any(not same(first[0], other) for other in first[1:])
    assert differ == CASES[name].random


@pytest.mark.parametrize("name", sorted(name for name in CASES if CASES[name].nothing is not None))
def test_probability_zero_is_the_identity(name: str) -> None:
    case = CASES[name]
    arguments = {**case.arguments, **(case.nothing or {})}
    for sample in (scene(), as_float(scene())):
        for seed in SEEDS[:3]:
            result = as_arrays(AUGMENTATIONS[name](as_tensors(sample), seed, **arguments))
            for field in Sample._fields:
                np.testing.assert_allclose(
                    *(as_numbers(getattr(s, field)) for s in (result, sample)),
                    rtol=1e-6,
                    atol=1e-4 if field == "image" else 1e-6,
                    err_msg=field,
                )


@every_case
def test_what_is_not_changed_stays(name: str) -> None:
    kind, start = CASES[name].kind, scene()
    for result in full_runs(name)[: len(SEEDS)]:
        if kind is Kind.RELABELS:
            np.testing.assert_array_equal(result.image, start.image)
        if kind is Kind.PAINTS:
            assert result.image.shape[:2] == start.image.shape[:2]
            for field in PER_OBJECT:
                np.testing.assert_array_equal(getattr(result, field), getattr(start, field))
        if kind is Kind.MOVES:  # each object keeps its own values, whichever objects are kept
            for field in ("weights", "confidences", "is_crowd", "areas", "multiclass_scores"):
                expected = getattr(start, field)[result.classes]
                np.testing.assert_array_equal(getattr(result, field), expected)


@moving_case
def test_pixels_and_boxes_move_together(name: str) -> None:
    seen = 0
    for result in full_runs(name)[: len(SEEDS)]:
        sides = np.tile(result.image.shape[:2], 2)
        boxes = result.boxes * sides
        for number in range(4):
            colored = pixels_of_color(result.image, number)
            if (result.classes == number).sum() == 1:
                found, said = box_around(colored), boxes[result.classes == number][0]
                if found is None:  # thinner than a pixel
                    assert (said[2:] - said[:2]).min() < CASES[name].slack
                    continue
                np.testing.assert_allclose(found, said, rtol=0, atol=CASES[name].slack)
            elif number in result.classes:  # copies: together they cover all of the color
                drawn = np.zeros_like(colored)
                for top, left, bottom, right in np.round(boxes[result.classes == number]):
                    drawn[int(top) : int(bottom), int(left) : int(right)] = True
                np.testing.assert_array_equal(colored, drawn)
            seen += 1
    assert seen >= 2 * len(SEEDS)


@moving_case
def test_pixels_and_masks_move_together(name: str) -> None:
    for result in full_runs(name)[: len(SEEDS)]:
        for number in set(result.classes.tolist()):
            colored = pixels_of_color(result.image, number)
            masked = result.masks[result.classes == number].any(axis=0)
            union = (colored | masked).sum()
            # Interpolation and nearest neighbor may differ by a pixel all around.
            edge = 2 * sum(colored.any(axis=axis).sum() for axis in (0, 1)) + 4
            assert (colored ^ masked).sum() <= min(edge, union)


@moving_case
def test_pixels_and_keypoints_move_together(name: str) -> None:
    labeled = 0
    for result in full_runs(name)[: len(SEEDS)]:
        sides = np.array(result.image.shape[:2])
        for keypoints, visible, number in zip(
            result.keypoints, result.visibilities, result.classes, strict=True
        ):
            assert not visible[np.isnan(keypoints).any(axis=-1)].any()
            assert np.isnan(keypoints[2]).all()
            for place in keypoints[~np.isnan(keypoints).any(axis=-1)]:
                top, left = np.minimum((place * sides).astype(int), sides - 1)
                around = pixels_of_color(result.image, number)
                around = around[max(top - 1, 0) : top + 2, max(left - 1, 0) : left + 2]
                assert around.any()
                labeled += 1
    assert labeled >= len(SEEDS)


def same(one: Sample, two: Sample) -> bool:
    return all(
        np.array_equal(as_numbers(a), as_numbers(b), equal_nan=True)
        for a, b in zip(one, two, strict=True)
    )


def as_numbers(value: Any) -> np.ndarray:
    """Make strings, flags and whole numbers comparable as float64."""
    if value is None:  # encoded masks, which only an evaluation has
        return np.zeros(0)
    array = np.asarray(value)
    if array.dtype.kind in "SO":
        return np.frombuffer(bytes(array.item()), np.uint8).astype(np.float64)
    return array.astype(np.float64)
