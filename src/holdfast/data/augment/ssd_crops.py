"""The crops of the SSD paper: one of several rules, chosen at random for each image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tensorflow as tf

from holdfast.data.augment.augmentations import augmentation, view_augmentation
from holdfast.data.augment.crops import (
    Crop,
    FixedAspectRatioCrop,
    crop_by_one_of,
    random_crop_to_aspect_ratio,
)
from holdfast.data.augment.draws import uniforms, whole_between
from holdfast.data.augment.pads import (
    color_or_average,
    pad_at_random,
    pad_to_aspect_ratio,
    size_ratio,
)
from holdfast.data.sample import Sample, Tensor


@dataclass(frozen=True, kw_only=True)
class CropPad(Crop):
    """One candidate of ssd_random_crop_pad; the ratios are of the canvas to the whole image."""

    min_padded_size_ratio: tuple[float, ...] = ()  # height, width; unset: 1, 1
    max_padded_size_ratio: tuple[float, ...] = ()  # height, width; unset: 2, 2
    # In the OD API an operation without a color pads with black, but a config without operations
    # pads with the average color: None.
    pad_color_r: float | None = 0.0
    pad_color_g: float | None = 0.0
    pad_color_b: float | None = 0.0

    @property
    def pad_color(self) -> tuple[float, float, float] | None:
        """The color, or None for the average."""
        red, green, blue = self.pad_color_r, self.pad_color_g, self.pad_color_b
        return None if red is None or green is None or blue is None else (red, green, blue)


# What a message without operations means.
_OVERLAPS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
DEFAULT_CROPS = tuple(
    Crop(
        min_object_covered=overlap,
        min_aspect_ratio=0.5,
        max_aspect_ratio=2.0,
        min_area=0.1,
        max_area=1.0,
        overlap_thresh=overlap,
        random_coef=0.15,
    )
    for overlap in _OVERLAPS
)
DEFAULT_CROP_PADS = tuple(
    CropPad(**vars(crop), pad_color_r=None, pad_color_g=None, pad_color_b=None)
    for crop in DEFAULT_CROPS[1:]
)


@view_augmentation
def ssd_random_crop(sample: Sample, seed: Tensor, *, operations: Sequence[Crop] = ()) -> Sample:
    """Crop by one of the rules."""
    return _crop_by_any(sample, seed, operations or DEFAULT_CROPS)[0]


@augmentation
def ssd_random_crop_pad(
    sample: Sample, seed: Tensor, *, operations: Sequence[CropPad] = ()
) -> Sample:
    """Crop by one of the rules, then pad as the same rule says."""
    rules = operations or DEFAULT_CROP_PADS
    seeds = tf.unstack(tf.random.split(seed, 2))
    cropped, index = _crop_by_any(sample, seeds[0], rules)
    sides = tf.cast(tf.shape(sample.image)[:2], tf.float32)
    smallest = [size_ratio("min_padded_size_ratio", r.min_padded_size_ratio, 1.0) for r in rules]
    largest = [size_ratio("max_padded_size_ratio", r.max_padded_size_ratio, 2.0) for r in rules]
    different = sorted({rule.pad_color or () for rule in rules})
    which = tf.gather([different.index(rule.pad_color or ()) for rule in rules], index)
    colors = [color_or_average(color, cropped.image) for color in different]
    return pad_at_random(
        cropped,
        seeds[1],
        sides * tf.gather(tf.constant(smallest), index),
        sides * tf.gather(tf.constant(largest), index),
        tf.gather(tf.stack(colors), which),
    )


@view_augmentation
def ssd_random_crop_fixed_aspect_ratio(
    sample: Sample,
    seed: Tensor,
    *,
    operations: Sequence[FixedAspectRatioCrop] = (),
    aspect_ratio: float = 1.0,
) -> Sample:
    """Crop by one of the rules, all at one aspect ratio (width / height).

    The second crop catches the images that the first left whole. As in the OD API it clips boxes
    and asks for an overlap of 0.3, whatever the rules say.
    """
    ratio = {"min_aspect_ratio": aspect_ratio, "max_aspect_ratio": aspect_ratio}
    rules = [Crop(**(vars(rule) | ratio)) for rule in operations or DEFAULT_CROPS]
    seeds = tf.unstack(tf.random.split(seed, 2))
    cropped, _ = _crop_by_any(sample, seeds[0], rules)
    return random_crop_to_aspect_ratio(cropped, seeds[1], aspect_ratio=aspect_ratio)


@augmentation
def ssd_random_crop_pad_fixed_aspect_ratio(
    sample: Sample,
    seed: Tensor,
    *,
    operations: Sequence[Crop] = (),
    aspect_ratio: float = 1.0,
    min_padded_size_ratio: Sequence[float] | None = None,
    max_padded_size_ratio: Sequence[float] | None = None,
) -> Sample:
    """Crop by one of the rules, then pad with black to an aspect ratio (width / height).

    The ratios, height and width, are of the canvas to the cropped image; unset they are 1 and 2.
    """
    seeds = tf.unstack(tf.random.split(seed, 2))
    cropped, _ = _crop_by_any(sample, seeds[0], operations or DEFAULT_CROPS)
    return pad_to_aspect_ratio(
        cropped,
        seeds[1],
        aspect_ratio=aspect_ratio,
        min_padded_size_ratio=size_ratio("min_padded_size_ratio", min_padded_size_ratio, 1.0),
        max_padded_size_ratio=size_ratio("max_padded_size_ratio", max_padded_size_ratio, 2.0),
    )


def _crop_by_any(sample: Sample, seed: Tensor, rules: Sequence[Crop]) -> tuple[Sample, Tensor]:
    """Crop by a rule chosen at random, and say which."""
    seeds = tf.unstack(tf.random.split(seed, 2))
    which, whether = uniforms(seeds[0], 2)
    index = whole_between(which, 0, len(rules))
    return crop_by_one_of(sample, seeds[1], rules, whether, index), index
