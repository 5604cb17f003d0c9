"""Larger canvases around the image."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from holdfast.data.augment.augmentations import augmentation
from holdfast.data.augment.crops import random_crop_image
from holdfast.data.augment.draws import between, uniforms, whole_between
from holdfast.data.augment.frames import change_frame, window_of
from holdfast.data.augment.pixels import as_dtype, as_float
from holdfast.data.sample import Sample, Tensor
from holdfast.errors import HoldfastError


@augmentation
def random_pad_image(
    sample: Sample,
    seed: Tensor,
    *,
    min_image_height: int | None = None,
    min_image_width: int | None = None,
    max_image_height: int | None = None,
    max_image_width: int | None = None,
    pad_color: Sequence[float] | None = None,
) -> Sample:
    """Put the image at a random place of a canvas of random size.

    The canvas is never smaller than the image. Unset bounds: the image's size and twice that size;
    an unset (or empty) color: the image's average.
    """
    sides = tf.shape(sample.image)[:2]
    smallest = _bound("min_image", min_image_height, min_image_width, sides)
    largest = _bound("max_image", max_image_height, max_image_width, 2 * sides)
    return pad_at_random(sample, seed, smallest, largest, color_or_average(pad_color, sample.image))


@augmentation
def random_absolute_pad_image(
    sample: Sample,
    seed: Tensor,
    *,
    max_height_padding: int = 0,
    max_width_padding: int = 0,
    pad_color: Sequence[float] | None = None,
) -> Sample:
    """Pad by fewer pixels than the two bounds; the image lies at a random place."""
    sides = tf.shape(sample.image)[:2]
    largest = sides + tf.constant([max_height_padding, max_width_padding])
    return pad_at_random(sample, seed, sides, largest, color_or_average(pad_color, sample.image))


@augmentation
def random_crop_pad_image(
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
    min_padded_size_ratio: Sequence[float] | None = None,
    max_padded_size_ratio: Sequence[float] | None = None,
    pad_color: Sequence[float] | None = None,
) -> Sample:
    """Crop (or, as often as random_coef says, do not), then pad.

    The ratios, height and width, are of the canvas to the image before the crop; unset they are
    1 and 2. An unset color is the average of the cropped image.
    """
    seeds = tf.unstack(tf.random.split(seed, 2))
    cropped = random_crop_image(
        sample,
        seeds[0],
        min_object_covered=min_object_covered,
        min_aspect_ratio=min_aspect_ratio,
        max_aspect_ratio=max_aspect_ratio,
        min_area=min_area,
        max_area=max_area,
        overlap_thresh=overlap_thresh,
        clip_boxes=clip_boxes,
        random_coef=random_coef,
    )
    sides = tf.cast(tf.shape(sample.image)[:2], tf.float32)
    smallest = sides * size_ratio("min_padded_size_ratio", min_padded_size_ratio, 1.0)
    largest = sides * size_ratio("max_padded_size_ratio", max_padded_size_ratio, 2.0)
    color = color_or_average(pad_color, cropped.image)
    return pad_at_random(cropped, seeds[1], smallest, largest, color)


def pad_at_random(
    sample: Sample, seed: Tensor, smallest: Tensor, largest: Tensor, color: Tensor
) -> Sample:
    """Draw a canvas from smallest to below largest (height, width) and a place on it."""
    draws = tf.random.stateless_uniform([2, 2], seed)
    sides = tf.shape(sample.image)[:2]
    smallest = tf.maximum(tf.cast(smallest, tf.int32), sides)
    largest = tf.maximum(tf.cast(largest, tf.int32), sides)
    # Where the bounds cross, the OD API takes the upper one.
    size = tf.where(largest > smallest, whole_between(draws[0], smallest, largest), largest)
    corner = whole_between(draws[1], 0, size - sides)
    return place(sample, corner, size, color)


def pad_to_aspect_ratio(
    sample: Sample,
    seed: Tensor,
    *,
    aspect_ratio: float,
    min_padded_size_ratio: Tensor,
    max_padded_size_ratio: Tensor,
) -> Sample:
    """Pad with black, bottom and right, to an aspect ratio (width / height) and a random size."""
    sides = tf.cast(tf.shape(sample.image)[:2], tf.float32)
    # Not tf.unstack: TensorFlow 2.21 takes max(a, 2 b) of two outputs of one operation for a leaky
    # ReLU, max(a, 2 a), when it optimizes the graph.
    height, width = sides[0], sides[1]
    fitting = tf.stack(  # the smallest canvas of this aspect ratio
        [tf.maximum(height, width / aspect_ratio), tf.maximum(width, height * aspect_ratio)]
    )
    max_scale = tf.reduce_min(tf.maximum(max_padded_size_ratio * sides, fitting) / fitting)
    min_scale = tf.reduce_max(tf.maximum(min_padded_size_ratio * sides, fitting) / fitting)
    scale = between(uniforms(seed, 1)[0], tf.minimum(min_scale, max_scale), max_scale)
    # Rounding may not make the canvas smaller than the image.
    size = tf.cast(tf.maximum(tf.round(scale * fitting), sides), tf.int32)
    black = tf.zeros(sample.image.shape[-1:])
    return place(sample, tf.zeros([2], tf.int32), size, black)


def place(sample: Sample, corner: Tensor, size: Tensor, color: Tensor) -> Sample:
    """Put the image on a canvas of a color, at a corner (y, x) in pixels."""
    sides = tf.shape(sample.image)[:2]
    after = size - sides - corner
    color = as_dtype(color, sample.image.dtype)
    image = sample.image
    # Strips glued on are plain copies: tf.pad knows one value for all channels only.
    for axis in (1, 0):
        shape = tf.unstack(tf.shape(image))
        strips = []
        for thickness in (corner[axis], after[axis]):
            shape[axis] = thickness
            strips.append(tf.broadcast_to(color, tf.stack(shape)))
        image = tf.concat([strips[0], image, strips[1]], axis=axis)
    masks = sample.masks
    if masks is not None:
        margins = tf.stack([corner, after], axis=1)
        masks = tf.pad(masks, tf.concat([[[0, 0]], margins], axis=0))
    window = window_of(-corner, size, sample.image)
    return change_frame(sample, window)._replace(image=image, masks=masks)


def color_or_average(color: Sequence[float] | None, image: Tensor) -> Tensor:
    """Give the color as float32 (C,), or the image's average where it is unset."""
    if not color:
        return tf.reduce_mean(as_float(image), axis=[0, 1])
    if len(color) not in (1, image.shape[-1]):
        raise HoldfastError(
            f"pad_color has {len(color)} values, and the image {image.shape[-1]} channels.",
            fix="Give one value for each channel: pad_color: [0, 0, 0].",
        )
    return tf.broadcast_to(tf.constant(color, tf.float32), image.shape[-1:])


def size_ratio(name: str, ratio: Sequence[float] | None, default: float) -> tuple[float, float]:
    """Give height and width of a ratio, or the default for both where it is unset."""
    if not ratio:
        return default, default
    if len(ratio) != 2:
        raise HoldfastError(
            f"{name} has {len(ratio)} values.", fix="Give two: the height's and the width's."
        )
    return ratio[0], ratio[1]


def _bound(name: str, height: int | None, width: int | None, default: Tensor) -> Tensor:
    if (height is None) != (width is None):
        raise HoldfastError(
            f"random_pad_image: only one of {name}_height and {name}_width is set.",
            fix="Set both, or neither.",
        )
    return default if height is None else tf.constant([height, width])
