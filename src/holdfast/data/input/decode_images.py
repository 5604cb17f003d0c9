"""Decode images: JPEG, PNG, GIF and BMP, by content and not by what a record declares."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from holdfast.data.sample import Tensor
from holdfast.data.sources.decode_gate import GATE
from holdfast.data.sources.image_files import decoding_bytes, read_header, why_too_large
from holdfast.errors import HoldfastError

# libjpeg interpolates colors that are stored at half the width. At the left and right border of
# what it decodes it has no neighbors to do so, and with fewer than three it reads garbage.
_JPEG_MARGIN = 4
# It decodes whole blocks, most of them this wide; a part that begins with one is spared a copy.
_JPEG_BLOCK = 16


def decode_image(encoded: Tensor) -> Tensor:
    """Decode to uint8 (H, W, 3) in a graph; of an animation, the first frame.

    Gray becomes RGB, palettes are resolved, alpha is dropped, CMYK is converted. An EXIF rotation
    is not applied, as in the OD API: boxes refer to the pixels as stored.
    """
    image = tf.io.decode_image(encoded, channels=3, expand_animations=False)
    return tf.ensure_shape(image, (None, None, 3))


@contextmanager
def decoded_image(encoded: bytes) -> Iterator[NDArray[np.uint8]]:
    """Decode outside of a graph, as one of several threads that share a budget of memory.

    HoldfastError for what must not be decoded: what is too large, or made to fill the memory.
    """
    try:
        size = read_header(encoded).size
    except HoldfastError:
        raise HoldfastError("The image is not one.") from None
    if reason := why_too_large(size, len(encoded)):
        raise HoldfastError(f"The image is not decoded: {reason}.")
    with GATE.room_for(decoding_bytes(size)):
        try:
            pixels = decode_image(encoded).numpy()
        except tf.errors.OpError as error:
            raise HoldfastError(f"The image does not decode: {plain_reason(error)}.") from None
        yield pixels


def plain_reason(error: tf.errors.OpError) -> str:
    """Give TensorFlow's reason in one line without the names of its operations.

    >>> plain_reason(tf.errors.DataLossError(None, None, "{{function_node f}} cut [Op:Read]"))
    'cut'
    """
    first = str(error.message).strip().partition("\n")[0]
    return re.sub(r"\{\{.*?\}\}|\[?Op:\w+\]?|name: *$", "", first).strip().rstrip(".")


def decode_part_of_jpeg(encoded: Tensor, stored: Tensor, corner: Tensor, size: Tensor) -> Tensor:
    """Decode a rectangle, bit for bit as if it were cut from the whole image, for less work.

    stored and size are height and width, corner is y and x: int32 (2,), in pixels of the file.
    """
    margin = tf.constant([0, _JPEG_MARGIN])
    begin = tf.maximum(tf.bitwise.bitwise_and(corner - margin, [-1, -_JPEG_BLOCK]), 0)
    end = tf.minimum(corner + size + margin, stored)
    part = tf.io.decode_and_crop_jpeg(encoded, tf.concat([begin, end - begin], 0), channels=3)
    return cut_pixels(part, corner - begin, size)


def cut_pixels(image: Tensor, corner: Tensor, size: Tensor) -> Tensor:
    """Cut a decoded image to a rectangle: corner (y, x) and size (height, width) in pixels."""
    # One operation, where image[top:bottom, left:right] takes five; it copies only if it must.
    corner, size = tf.concat([corner, [0]], axis=0), tf.concat([size, image.shape[-1:]], axis=0)
    return tf.slice(image, corner, size)
