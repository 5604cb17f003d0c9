"""AutoAugment's changes of color, as PIL defines them, on uint8 images."""

from __future__ import annotations

import tensorflow as tf

from holdfast.data.input.resize import to_gray
from holdfast.data.sample import Tensor


def autocontrast(image: Tensor) -> Tensor:
    """Stretch each channel to 0..255."""
    values = tf.cast(image, tf.float32)
    low = tf.reduce_min(values, axis=[0, 1])
    high = tf.reduce_max(values, axis=[0, 1])
    scale = 255.0 / tf.maximum(high - low, 1.0)
    stretched = tf.saturate_cast((values - low) * scale, tf.uint8)
    return tf.where(high > low, stretched, image)


def equalize(image: Tensor) -> Tensor:
    """Give each channel an even histogram."""
    channels = tf.unstack(tf.cast(image, tf.int32), axis=-1)
    return tf.stack([tf.gather(_equalizing(channel), channel) for channel in channels], axis=-1)


def posterize(image: Tensor, bits: int) -> Tensor:
    """Keep the highest bits of each value, and one at least."""
    # The OD API asks for 0 bits at low levels; the kernel never shifts by more than 7.
    shift = tf.constant(min(8 - bits, 7), tf.uint8)
    return tf.bitwise.left_shift(tf.bitwise.right_shift(image, shift), shift)


def solarize(image: Tensor, threshold: int) -> Tensor:
    """Turn values from the threshold up into their negative."""
    return tf.where(tf.cast(image, tf.int32) < threshold, image, 255 - image)


def solarize_add(image: Tensor, addition: int, threshold: int = 128) -> Tensor:
    """Add to values below the threshold."""
    values = tf.cast(image, tf.int32)
    return tf.where(values < threshold, tf.saturate_cast(values + addition, tf.uint8), image)


def color(image: Tensor, factor: float) -> Tensor:
    """Fade to gray (0), leave (1), or make more colorful."""
    gray = tf.saturate_cast(to_gray(image), tf.uint8)
    return _blend(tf.repeat(gray, 3, axis=-1), image, factor)


def contrast(image: Tensor, factor: float) -> Tensor:
    """Fade to the mean gray (0), leave (1), or move away from it.

    The OD API takes the number of pixels / 256 for the mean: a gray that depends on the image's
    size, and is white from 256x256 up. This is the mean of PIL and of the paper.
    """
    gray = tf.floor(to_gray(image))
    mean = tf.saturate_cast(tf.floor(tf.reduce_mean(gray) + 0.5), tf.uint8)
    return _blend(tf.broadcast_to(mean, tf.shape(image)), image, factor)


def brightness(image: Tensor, factor: float) -> Tensor:
    """Fade to black (0), leave (1), or make brighter."""
    return _blend(tf.zeros_like(image), image, factor)


def sharpness(image: Tensor, factor: float) -> Tensor:
    """Blur (0), leave (1), or sharpen; the outermost pixels stay."""
    kernel = tf.constant([[1.0, 1.0, 1.0], [1.0, 5.0, 1.0], [1.0, 1.0, 1.0]]) / 13.0
    kernel = tf.tile(kernel[..., tf.newaxis, tf.newaxis], [1, 1, 3, 1])
    values = tf.cast(image, tf.float32)[tf.newaxis]
    blurred = tf.nn.depthwise_conv2d(values, kernel, strides=[1, 1, 1, 1], padding="SAME")[0]
    sides = tf.shape(image)[:2]
    is_inner = tf.pad(tf.ones(sides - 2, tf.bool), [[1, 1], [1, 1]])[..., tf.newaxis]
    smooth = tf.where(is_inner, tf.saturate_cast(blurred, tf.uint8), image)
    return _blend(smooth, image, factor)


def _equalizing(channel: Tensor) -> Tensor:
    """Make the table, uint8 (256,), from old to new value; nothing changes if one value rules."""
    counts = tf.math.bincount(channel, minlength=256, maxlength=256)
    last = tf.gather(counts, tf.reduce_max(channel))
    step = (tf.reduce_sum(counts) - last) // 255
    ranks = (tf.cumsum(counts, exclusive=True) + step // 2) // tf.maximum(step, 1)
    return tf.saturate_cast(tf.where(step > 0, ranks, tf.range(256)), tf.uint8)


def _blend(degenerate: Tensor, image: Tensor, factor: float) -> Tensor:
    """Go from the degenerate image (0) to the image (1), or beyond; fractions are cut off."""
    start, end = tf.cast(degenerate, tf.float32), tf.cast(image, tf.float32)
    return tf.saturate_cast(start + factor * (end - start), tf.uint8)
