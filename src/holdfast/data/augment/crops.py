"""Crops of a part of the image, with the objects that are still in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tensorflow as tf

from holdfast.data.augment.augmentations import augmentation, view_augmentation
from holdfast.data.augment.draws import sometimes, uniforms, whole_between
from holdfast.data.augment.frames import cut, keep_overlapping, window_of
from holdfast.data.augment.views import sides_of
from holdfast.data.sample import Sample, Tensor
from holdfast.errors import HoldfastError


@dataclass(frozen=True, kw_only=True)
class FixedAspectRatioCrop:
    """One candidate of ssd_random_crop_fixed_aspect_ratio."""

    min_object_covered: float = 0.0  # the window must hold this part of at least one box
    min_area: float = 0.0  # of the window, as a part of the image
    max_area: float = 0.0
    overlap_thresh: float = 0.0  # an object needs this part of its box in the window to stay
    clip_boxes: bool = True
    random_coef: float = 0.0  # probability that the image stays whole


@dataclass(frozen=True, kw_only=True)
class Crop(FixedAspectRatioCrop):
    """One candidate of ssd_random_crop and ssd_random_crop_pad_fixed_aspect_ratio."""

    min_aspect_ratio: float = 0.0  # of the window, width / height
    max_aspect_ratio: float = 0.0


@view_augmentation
def random_crop_image(
    sample: Sample,
    seed: Tensor,
    *,
    min_object_covered: float = 1.0,
    min_aspect_ratio: float = 0.75,
    max_aspect_ratio: float = 1.33,
    min_area: float = 0.1,
    max_area: float = 1.0,
    overlap_thresh: float = 0.3,
    clip_boxes: bool = True,
    random_coef: float = 0.0,
) -> Sample:
    """Crop to a window that covers enough of some box; random_coef is how often nothing is cut."""
    crop = Crop(
        min_object_covered=min_object_covered,
        min_aspect_ratio=min_aspect_ratio,
        max_aspect_ratio=max_aspect_ratio,
        min_area=min_area,
        max_area=max_area,
        overlap_thresh=overlap_thresh,
        clip_boxes=clip_boxes,
        random_coef=random_coef,
    )
    seeds = tf.unstack(tf.random.split(seed, 2))
    return crop_by_one_of(sample, seeds[0], [crop], uniforms(seeds[1], 1)[0], tf.constant(0))


@view_augmentation
def random_crop_to_aspect_ratio(
    sample: Sample,
    seed: Tensor,
    *,
    aspect_ratio: float = 1.0,
    overlap_thresh: float = 0.3,
    clip_boxes: bool = True,
) -> Sample:
    """Cut the largest window of an aspect ratio (width / height) at a random place."""
    sides = sides_of(sample.image)
    height, width = tf.unstack(tf.cast(sides, tf.float32))
    ratio = tf.constant(aspect_ratio)
    size = tf.where(
        width / height >= ratio,
        tf.stack([height, tf.round(height * ratio)]),
        tf.stack([tf.round(width / ratio), width]),
    )
    size = tf.clip_by_value(tf.cast(size, tf.int32), 1, sides)
    corner = whole_between(tf.random.stateless_uniform([2], seed), 0, sides - size + 1)
    window = window_of(corner, size, sample.image)
    cropped = cut(sample, corner, size)
    return keep_overlapping(cropped, window, overlap=overlap_thresh, clip=clip_boxes)


@augmentation
def random_square_crop_by_scale(
    sample: Sample,
    seed: Tensor,
    *,
    max_border: int = 128,
    scale_min: float = 0.6,
    scale_max: float = 1.3,
    num_scales: int = 8,
) -> Sample:
    """Crop CenterNet's square: a random multiple of the longer side; black beyond the image.

    Its center keeps a distance of max_border pixels (halved until it is less than half of a side)
    from the image's border.
    """
    draws = tf.random.stateless_uniform([3], seed)
    sides = tf.shape(sample.image)[:2]
    scales = tf.linspace(scale_min, scale_max, num_scales)
    scale = scales[whole_between(draws[0], 0, num_scales)]
    side = tf.cast(scale * tf.cast(tf.reduce_max(sides), tf.float32), tf.int32)
    side = tf.maximum(side, 1)
    border = _halved_border(max_border, sides)
    corner = whole_between(draws[1:], border, sides - border + 1) - side // 2
    # The OD API stops one pixel before the right and bottom border, by mistake; this does not.
    begin = tf.maximum(corner, 0)
    end = tf.minimum(corner + side, sides)
    cropped = cut(sample, begin, end - begin)
    before, after = begin - corner, corner + side - end
    margins = tf.stack([before, after], axis=1)
    image = tf.pad(cropped.image, tf.concat([margins, [[0, 0]]], axis=0))
    masks = cropped.masks
    if masks is not None:
        masks = tf.pad(masks, tf.concat([[[0, 0]], margins], axis=0))
    window = window_of(corner, tf.stack([side, side]), sample.image)
    padded = cropped._replace(image=image, masks=masks)
    return keep_overlapping(padded, window, overlap=0.0, clip=True)


def crop_by_one_of(
    sample: Sample, seed: Tensor, crops: Sequence[Crop], draw: Tensor, index: Tensor
) -> Sample:
    """Crop as the index-th rule says, unless the draw from [0, 1) says to keep the whole image."""
    for candidate in crops:
        _check(candidate)

    def rule(name: str) -> Tensor:
        return _choose([getattr(crop, name) for crop in crops], index)

    def crop_to_window(sample: Sample) -> Sample:
        corner, size, window = _sample_window(
            sample, seed, crops, index, rule("min_object_covered")
        )
        cropped = cut(sample, corner, size)
        return keep_overlapping(
            cropped, window, overlap=rule("overlap_thresh"), clip=rule("clip_boxes")
        )

    return sometimes(draw, 1.0 - rule("random_coef"), crop_to_window, sample)


def _sample_window(
    sample: Sample, seed: Tensor, crops: Sequence[Crop], index: Tensor, min_object_covered: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw corner and size in pixels and the window; the whole image if 100 attempts fail."""
    # The kernel takes the ranges as constants: one call for each pair of ranges that occurs.
    ranges = [
        ((crop.min_aspect_ratio, crop.max_aspect_ratio), (crop.min_area, crop.max_area))
        for crop in crops
    ]
    different = sorted(set(ranges))
    boxes = tf.expand_dims(tf.clip_by_value(sample.boxes, 0.0, 1.0), 1)

    def draw(aspect_ratios: tuple[float, float], areas: tuple[float, float]) -> list[Tensor]:
        corner, size, window = tf.image.stateless_sample_distorted_bounding_box(
            tf.concat([sides_of(sample.image), [3]], axis=0),
            boxes,
            seed,
            min_object_covered=min_object_covered,
            aspect_ratio_range=aspect_ratios,
            area_range=areas,
            max_attempts=100,
            use_image_if_no_bounding_boxes=True,
        )
        return [corner[:2], size[:2], tf.reshape(window, [4])]

    if len(different) == 1:
        corner, size, window = draw(*different[0])
    else:
        which = _choose([different.index(pair) for pair in ranges], index)
        branches = [lambda pair=pair: draw(*pair) for pair in different]
        corner, size, window = tf.switch_case(which, branches)
    return corner, size, window


def _choose(values: Sequence[float | bool | int], index: Tensor) -> float | bool | int | Tensor:
    """Look a value up by index; a plain value, known before the graph runs, if all are equal."""
    return values[0] if len(set(values)) == 1 else tf.gather(tf.constant(values), index)


def _check(crop: Crop) -> None:
    """Refuse ranges that the sampling kernel would refuse in the middle of a training."""
    if min(crop.min_aspect_ratio, crop.max_aspect_ratio) <= 0.0:
        raise HoldfastError(
            f"A random crop has aspect ratios from {crop.min_aspect_ratio} to "
            f"{crop.max_aspect_ratio}.",
            fix="Set min_aspect_ratio and max_aspect_ratio above 0, e.g. 0.5 and 2.0.",
        )
    if min(crop.min_area, crop.max_area) <= 0.0 or max(crop.min_area, crop.max_area) > 1.0:
        raise HoldfastError(
            f"A random crop has areas from {crop.min_area} to {crop.max_area}.",
            fix="Set min_area and max_area, parts of the image, above 0 and up to 1.",
        )


def _halved_border(max_border: int, sides: Tensor) -> Tensor:
    """Halve the border until it is less than half of each side (int32 (2,))."""
    if max_border <= 0:
        return tf.zeros([2], tf.int32)
    # The least k with border / 2^k <= side / 2.
    halvings = tf.math.log(2.0 * max_border / tf.cast(sides, tf.float32)) / tf.math.log(2.0)
    divisor = tf.clip_by_value(2.0 ** tf.math.ceil(halvings), 1.0, float(max_border))
    return tf.minimum(max_border // tf.cast(divisor, tf.int32), sides // 2)
