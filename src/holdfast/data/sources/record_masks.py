"""Instance masks of TFRecords, parsed inside the TensorFlow graph."""

from __future__ import annotations

from enum import Enum
from typing import Literal

import tensorflow as tf

from holdfast.data.sample import Tensor


class MaskFormat(Enum):
    """How instance masks are stored: PNG files, or one float for each pixel."""

    PNG = "png"
    NUMERICAL = "numerical"


# In which form a sample has them; counted: in none, but a record with too few of them is noticed.
MaskForm = Literal["pixels", "encoded", "both", "counted"]


def mask_pixels(stored: Tensor, kind: MaskFormat, count: Tensor, size: Tensor) -> Tensor:
    """Give masks uint8 (N, H, W) of 0 and 1; all 0 for a record without masks.

    stored: the record's list. size: height and width of the image, int32 (2,).
    """

    def present() -> Tensor:
        if kind is MaskFormat.PNG:
            return tf.map_fn(_decoded, stored, fn_output_signature=_MASK_SPEC)
        shape = tf.concat([[-1], size], axis=0)
        return tf.reshape(tf.cast(stored > 0.0, tf.uint8), shape)

    # A record that does not say how large its image is still gets masks that can be resized.
    empty = tf.concat([[count], tf.maximum(size, 1)], axis=0)
    # Inside of the branch: map_fn cannot stack what it never saw.
    return tf.cond(tf.size(stored) > 0, present, lambda: tf.zeros(empty, tf.uint8))


def mask_files(stored: Tensor, kind: MaskFormat, count: Tensor, size: Tensor) -> Tensor:
    """Give masks as PNG files, string (N,): as stored, or made of numbers; "" if there are none."""
    nothing = tf.fill([tf.where(tf.size(stored) > 0, 0, count)], "")
    if kind is MaskFormat.PNG:
        return tf.concat([stored, nothing], axis=0)
    return tf.cond(
        tf.size(stored) > 0,
        lambda: tf.map_fn(
            lambda mask: tf.io.encode_png(mask[:, :, None]),
            mask_pixels(stored, kind, count, size),
            fn_output_signature=tf.string,
        ),
        lambda: nothing,
    )


_MASK_SPEC = tf.TensorSpec((None, None), tf.uint8)


def _decoded(encoded: Tensor) -> Tensor:
    image = tf.io.decode_image(encoded, channels=1, expand_animations=False)
    return tf.cast(image[:, :, 0] > 0, tf.uint8)
