"""Changes of pixel values; objects stay as they are."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from holdfast.data.augment.augmentations import augmentation
from holdfast.data.augment.draws import between, sometimes, uniforms
from holdfast.data.augment.pixels import as_dtype, as_float, with_colors
from holdfast.data.input.resize import to_gray
from holdfast.data.sample import Sample, Tensor
from holdfast.errors import HoldfastError


@augmentation
def normalize_image(
    sample: Sample,
    seed: Tensor,
    *,
    original_minval: float = 0.0,
    original_maxval: float = 0.0,
    target_minval: float = 0.0,
    target_maxval: float = 1.0,
) -> Sample:
    """Map pixel values linearly from one range to another; the image becomes float32."""
    if original_maxval == original_minval:
        raise HoldfastError(
            f"normalize_image: original_minval and original_maxval are both {original_minval}.",
            fix="Give the range of the pixels: original_minval: 0 original_maxval: 255.",
        )
    scale = (target_maxval - target_minval) / (original_maxval - original_minval)
    values = (as_float(sample.image) - original_minval) * scale + target_minval
    return sample._replace(image=values)


@augmentation
def subtract_channel_mean(sample: Sample, seed: Tensor, *, means: Sequence[float] = ()) -> Sample:
    """Subtract a mean from each channel; the image becomes float32."""
    if len(means) != sample.image.shape[-1]:
        raise HoldfastError(
            f"subtract_channel_mean: {len(means)} means for {sample.image.shape[-1]} channels.",
            fix="Give one mean for each channel: means: 123.68 means: 116.779 means: 103.939.",
        )
    return sample._replace(image=as_float(sample.image) - tf.constant(means, tf.float32))


@augmentation
def rgb_to_gray(sample: Sample, seed: Tensor) -> Sample:
    """Turn to one gray channel."""
    return sample._replace(image=as_dtype(to_gray(sample.image), sample.image.dtype))


@augmentation
def random_rgb_to_gray(sample: Sample, seed: Tensor, *, probability: float = 0.1) -> Sample:
    """Turn to gray, three channels kept."""

    def gray(sample: Sample) -> Sample:
        values = as_dtype(to_gray(sample.image), sample.image.dtype)
        return sample._replace(image=tf.repeat(values, 3, axis=-1))

    return sometimes(uniforms(seed, 1)[0], probability, gray, sample)


@augmentation
def random_pixel_value_scale(
    sample: Sample, seed: Tensor, *, minval: float = 0.9, maxval: float = 1.1
) -> Sample:
    """Multiply every value of every pixel by its own random factor."""
    factors = tf.random.stateless_uniform(tf.shape(sample.image), seed, minval, maxval)
    return with_colors(sample, lambda values: values * factors)


@augmentation
def adjust_gamma(sample: Sample, seed: Tensor, *, gamma: float = 1.0, gain: float = 1.0) -> Sample:
    """Raise pixel values, as parts of 255, to a power, and multiply by the gain."""
    return with_colors(sample, lambda values: 255.0 * gain * (values / 255.0) ** gamma)


@augmentation
def random_adjust_brightness(sample: Sample, seed: Tensor, *, max_delta: float = 0.2) -> Sample:
    """Add up to max_delta, a part of 255, to all pixels."""
    draw = uniforms(seed, 1)[0]
    return with_colors(sample, lambda values: _brightness(values, draw, max_delta))


@augmentation
def random_adjust_contrast(
    sample: Sample, seed: Tensor, *, min_delta: float = 0.8, max_delta: float = 1.25
) -> Sample:
    """Multiply each channel's distance from its mean by a factor from min_delta to max_delta."""
    draw = uniforms(seed, 1)[0]
    return with_colors(sample, lambda values: _contrast(values, draw, min_delta, max_delta))


@augmentation
def random_adjust_hue(sample: Sample, seed: Tensor, *, max_delta: float = 0.02) -> Sample:
    """Turn the hue by up to max_delta, a part of the whole circle, either way."""
    draw = uniforms(seed, 1)[0]
    return with_colors(sample, lambda values: _hue(values, draw, max_delta))


@augmentation
def random_adjust_saturation(
    sample: Sample, seed: Tensor, *, min_delta: float = 0.8, max_delta: float = 1.25
) -> Sample:
    """Multiply the saturation by a factor from min_delta to max_delta."""
    draw = uniforms(seed, 1)[0]
    return with_colors(sample, lambda values: _saturation(values, draw, min_delta, max_delta))


@augmentation
def random_distort_color(sample: Sample, seed: Tensor, *, color_ordering: int = 0) -> Sample:
    """Change brightness, saturation, hue and contrast; the ordering says which comes when."""
    if color_ordering not in (0, 1):
        raise HoldfastError(
            f"random_distort_color: color_ordering is {color_ordering}.",
            fix="Use 0 (contrast last) or 1 (contrast before saturation and hue).",
        )
    draws = uniforms(seed, 4)

    def distort(values: Tensor) -> Tensor:
        values = _in_range(_brightness(values, draws[0], 32.0 / 255.0))
        if color_ordering == 1:
            values = _in_range(_contrast(values, draws[1], 0.5, 1.5))
        values = _in_range(_saturation(values, draws[2], 0.5, 1.5))
        values = _in_range(_hue(values, draws[3], 0.2))
        if color_ordering == 0:
            values = _contrast(values, draws[1], 0.5, 1.5)
        return values

    return with_colors(sample, distort)


# The OD API divides by 255 before these and multiplies after; all but the brightness scale along.


def _brightness(values: Tensor, draw: Tensor, max_delta: float) -> Tensor:
    return values + 255.0 * between(draw, -max_delta, max_delta)


def _contrast(values: Tensor, draw: Tensor, low: float, high: float) -> Tensor:
    return tf.image.adjust_contrast(values, between(draw, low, high))


def _hue(values: Tensor, draw: Tensor, max_delta: float) -> Tensor:
    return tf.image.adjust_hue(values, between(draw, -max_delta, max_delta))


def _saturation(values: Tensor, draw: Tensor, low: float, high: float) -> Tensor:
    return tf.image.adjust_saturation(values, between(draw, low, high))


def _in_range(values: Tensor) -> Tensor:
    return tf.clip_by_value(values, 0.0, 255.0)
