"""Decode images: JPEG, PNG, GIF and BMP, by content and not by what a record declares."""

from __future__ import annotations

import tensorflow as tf

from holdfast.data.sample import Tensor


def decode_image(encoded: Tensor) -> Tensor:
    """Decode to uint8 (H, W, 3) in a graph; of an animation, the first frame.

    Grey becomes RGB, palettes are resolved, alpha is dropped, CMYK is converted. An EXIF rotation
    is not applied, as in the OD API: boxes refer to the pixels as stored.
    """
    image = tf.io.decode_image(encoded, channels=3, expand_animations=False)
    return tf.ensure_shape(image, (None, None, 3))
