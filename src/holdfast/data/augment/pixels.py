"""Pixel values as float32 for arithmetic, and back to what the image was."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from holdfast.data.sample import Sample, Tensor


def as_float(image: Tensor) -> Tensor:
    """Give the same values as float32."""
    return tf.cast(image, tf.float32)


def as_dtype(values: Tensor, dtype: tf.DType) -> Tensor:
    """Round float32 values to an image's dtype; float32 stays as it is."""
    if dtype.is_integer and values.dtype.is_floating:
        values = tf.round(values)
    return values if values.dtype == dtype else tf.saturate_cast(values, dtype)


def with_colors(sample: Sample, change: Callable[[Tensor], Tensor]) -> Sample:
    """Apply a function of float32 pixels, and keep the result within 0..255."""
    values = tf.clip_by_value(change(as_float(sample.image)), 0.0, 255.0)
    return sample._replace(image=as_dtype(values, sample.image.dtype))
