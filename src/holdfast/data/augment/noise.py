"""Damage to pixels: black squares, noise, JPEG artifacts."""

from __future__ import annotations

import tensorflow as tf

from holdfast.data.augment.augmentations import augmentation
from holdfast.data.augment.draws import between, sometimes, uniforms, whole_between
from holdfast.data.augment.pixels import as_dtype, as_float
from holdfast.data.sample import Sample, Tensor
from holdfast.errors import HoldfastError


@augmentation
def random_black_patches(
    sample: Sample,
    seed: Tensor,
    *,
    max_black_patches: int = 10,
    probability: float = 0.5,
    size_to_image_ratio: float = 0.1,
) -> Sample:
    """Black out squares: each of max_black_patches with a probability, at a random place.

    The side of a square is size_to_image_ratio of the image's shorter side.
    """
    draws = tf.random.stateless_uniform([max_black_patches, 3], seed)
    height, width = tf.unstack(tf.cast(tf.shape(sample.image)[:2], tf.float32))
    side = tf.cast(tf.minimum(height, width) * size_to_image_ratio, tf.int32)
    side = tf.where(draws[:, 0] < probability, side, 0)  # (P,): no side, no patch
    places = (1.0 - size_to_image_ratio) * draws[:, 1:] * tf.stack([height, width])
    top, left = tf.unstack(tf.cast(places, tf.int32), axis=1)
    rows = _covered(top, side, tf.shape(sample.image)[0])  # (P, H)
    columns = _covered(left, side, tf.shape(sample.image)[1])  # (P, W)
    is_black = tf.matmul(rows, columns, transpose_a=True) > 0.0  # (H, W)
    black = tf.zeros([], sample.image.dtype)
    return sample._replace(image=tf.where(is_black[..., tf.newaxis], black, sample.image))


@augmentation
def random_patch_gaussian(
    sample: Sample,
    seed: Tensor,
    *,
    random_coef: float = 0.0,
    min_patch_size: int = 1,
    max_patch_size: int = 250,
    min_gaussian_stddev: float = 0.0,
    max_gaussian_stddev: float = 1.0,
) -> Sample:
    """Add Gaussian noise to a square patch; random_coef is how often nothing happens.

    The patch's center is in the image, its border need not be. The deviation is a part of 255.
    """
    if min_patch_size < 1:
        raise HoldfastError(
            f"random_patch_gaussian: min_patch_size is {min_patch_size}.", fix="Use 1 or more."
        )
    seeds = tf.unstack(tf.random.split(seed, 2))
    draws = tf.random.stateless_uniform([5], seeds[0])

    def add_noise(image: Tensor) -> Tensor:
        sides = tf.shape(image)[:2]
        size = whole_between(draws[1], min_patch_size, max_patch_size)
        deviation = 255.0 * between(draws[2], min_gaussian_stddev, max_gaussian_stddev)
        center = whole_between(draws[3:], 0, sides)
        begin = tf.maximum(center - size // 2, 0)
        end = tf.minimum(center + (size + 1) // 2, sides)
        margins = tf.concat([tf.stack([begin, sides - end], axis=1), [[0, 0]]], axis=0)
        shape = tf.concat([end - begin, tf.shape(image)[2:]], axis=0)
        noise = tf.random.stateless_normal(shape, seeds[1], stddev=deviation)
        # Outside of the patch the noise is 0, and the values are in range already.
        noisy = tf.clip_by_value(as_float(image) + tf.pad(noise, margins), 0.0, 255.0)
        return as_dtype(noisy, image.dtype)

    return sample._replace(image=sometimes(draws[0], 1.0 - random_coef, add_noise, sample.image))


@augmentation
def random_jpeg_quality(
    sample: Sample,
    seed: Tensor,
    *,
    random_coef: float = 0.0,
    min_jpeg_quality: int = 0,
    max_jpeg_quality: int = 100,
) -> Sample:
    """Encode as JPEG of a quality from min to below max; random_coef of the images stay."""
    whether, how_good = uniforms(seed, 2)

    def encode(image: Tensor) -> Tensor:
        quality = whole_between(how_good, min_jpeg_quality, max_jpeg_quality)
        encoded = tf.image.adjust_jpeg_quality(tf.saturate_cast(image, tf.uint8), quality)
        return tf.cast(tf.ensure_shape(encoded, image.shape), image.dtype)

    return sample._replace(image=sometimes(whether, 1.0 - random_coef, encode, sample.image))


def _covered(begin: Tensor, length: Tensor, total: Tensor) -> Tensor:
    """Mark, float32 (P, total), the places from begin to begin + length."""
    places = tf.range(total)
    after_begin = places >= begin[:, tf.newaxis]
    before_end = places < (begin + length)[:, tf.newaxis]
    return tf.cast(after_begin & before_end, tf.float32)
