"""Other numbers of pixels for the same picture."""

from __future__ import annotations

import tensorflow as tf

from holdfast.data.augment.augmentations import augmentation
from holdfast.data.augment.draws import between, sometimes, uniforms, whole_between
from holdfast.data.augment.frames import cut, keep_overlapping, window_of
from holdfast.data.augment.pixels import as_dtype
from holdfast.data.input.resize import Interpolation, resize_to
from holdfast.data.sample import Sample, Tensor
from holdfast.errors import HoldfastError


@augmentation
def random_image_scale(
    sample: Sample, seed: Tensor, *, min_scale_ratio: float = 0.5, max_scale_ratio: float = 2.0
) -> Sample:
    """Enlarge or shrink; the aspect ratio stays."""
    scale = between(uniforms(seed, 1)[0], min_scale_ratio, max_scale_ratio)
    return _resize(sample, _scaled(sample.image, scale), align_corners=True)


@augmentation
def resize_image(
    sample: Sample,
    seed: Tensor,
    *,
    new_height: int = 0,
    new_width: int = 0,
    method: str = Interpolation.BILINEAR,
) -> Sample:
    """Resize to one height and width."""
    _check_size("resize_image", "new_height", new_height, "new_width", new_width)
    return _resize(sample, tf.constant([new_height, new_width]), method)


@augmentation
def random_resize_method(
    sample: Sample, seed: Tensor, *, target_height: int = 0, target_width: int = 0
) -> Sample:
    """Resize to one height and width with an interpolation chosen at random."""
    _check_size(
        "random_resize_method", "target_height", target_height, "target_width", target_width
    )
    size = tf.constant([target_height, target_width])
    branches = [lambda method=method: _resize(sample, size, method) for method in Interpolation]
    which = whole_between(uniforms(seed, 1)[0], 0, len(branches))
    resized: Sample = tf.switch_case(which, branches)
    return resized


@augmentation
def random_downscale_to_target_pixels(
    sample: Sample,
    seed: Tensor,
    *,
    random_coef: float = 0.0,
    min_target_pixels: int = 300_000,
    max_target_pixels: int = 800_000,
) -> Sample:
    """Shrink to a random number of pixels; smaller images stay, and so do random_coef of all.

    The OD API's message gives 500000 as the default of max_target_pixels, but its builder hands
    over only what the config sets, and its function's own default is 800000.
    """
    if min(min_target_pixels, max_target_pixels) <= 0:
        raise HoldfastError(
            "random_downscale_to_target_pixels: the target is from "
            f"{min_target_pixels} to {max_target_pixels} pixels.",
            fix="Give positive numbers of pixels.",
        )
    whether, how_many = uniforms(seed, 2)

    def downscale(sample: Sample) -> Sample:
        target = whole_between(how_many, min_target_pixels, max_target_pixels)
        pixels = tf.reduce_prod(tf.shape(sample.image)[:2])
        scale = tf.sqrt(tf.cast(target, tf.float32) / tf.cast(pixels, tf.float32))
        size = _scaled(sample.image, scale)
        smaller: Sample = tf.cond(pixels > target, lambda: _resize(sample, size), lambda: sample)
        return smaller

    return sometimes(whether, 1.0 - random_coef, downscale, sample)


@augmentation
def random_scale_crop_and_pad_to_square(
    sample: Sample,
    seed: Tensor,
    *,
    output_size: int = 512,
    scale_min: float = 0.1,
    scale_max: float = 2.0,
) -> Sample:
    """EfficientDet's scale jitter: resize, cut what is too large, pad with black to a square.

    The longer side becomes output_size times a random scale; the image lies in the upper left
    corner of the square.
    """
    draws = tf.random.stateless_uniform([3], seed)
    sides = tf.cast(tf.shape(sample.image)[:2], tf.float32)
    scale = between(draws[0], scale_min, scale_max)
    scaled = scale * output_size * (sides / tf.reduce_max(sides))
    scaled = tf.maximum(tf.cast(scaled, tf.int32), 1)
    excess = tf.cast(tf.maximum(scaled - output_size, 0), tf.float32)
    corner = tf.cast(excess * draws[1:], tf.int32)
    # Cutting first would be less work, but the pixel grid starts at the whole image's corner.
    resized = _resize(sample, scaled)
    cropped = cut(resized, corner, tf.minimum(scaled, output_size))
    window = window_of(corner, [output_size, output_size], resized.image)
    square = _pad_to_square(cropped, output_size)
    return keep_overlapping(square, window, overlap=0.0, clip=True)


def _pad_to_square(sample: Sample, side: int) -> Sample:
    missing = side - tf.shape(sample.image)[:2]
    margins = tf.stack([tf.zeros_like(missing), missing], axis=1)
    image = tf.pad(sample.image, tf.concat([margins, [[0, 0]]], axis=0))
    image.set_shape([side, side, sample.image.shape[-1]])
    masks = sample.masks
    if masks is not None:
        masks = tf.pad(masks, tf.concat([[[0, 0]], margins], axis=0))
    return sample._replace(image=image, masks=masks)


def _scaled(image: Tensor, scale: Tensor) -> Tensor:
    """Multiply the sides, round down as the OD API does, but to no less than one pixel."""
    sides = tf.cast(tf.shape(image)[:2], tf.float32)
    return tf.maximum(tf.cast(sides * scale, tf.int32), 1)


def _resize(
    sample: Sample,
    size: Tensor,
    method: str = Interpolation.BILINEAR,
    *,
    align_corners: bool = False,
) -> Sample:
    """Resize image and masks; normalized boxes and keypoints stay what they are."""
    image, masks = resize_to(sample.image, sample.masks, size, method, align_corners=align_corners)
    return sample._replace(image=as_dtype(image, sample.image.dtype), masks=masks)


def _check_size(option: str, height_name: str, height: int, width_name: str, width: int) -> None:
    if min(height, width) <= 0:
        raise HoldfastError(
            f"{option}: {height_name} is {height}, {width_name} is {width}.",
            fix=f"Set both {height_name} and {width_name}, in pixels.",
        )
