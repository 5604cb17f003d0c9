"""Regions of feature maps: what the second stage of a detector looks at.

A cell of a map is one point, the first and the last of them on the image's border: y of a
normalized box lies at y * (height - 1). Between cells the values are interpolated; beyond them they
are 0. The OD API has a second form of this for TPUs, by matrix products, with the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf
from keras import ops

from holdfast.geometry.boxes import corners
from holdfast.geometry.tensor import Tensor

# B images, P boxes an image, R = B * P regions: those of the first image, then those of the next

# The side of the images by which the levels of a pyramid are counted (Lin et al. 2017, eq. 1).
_CANONICAL_SIDE = 224.0
_BORDER = 1.0 - 1e-6  # farther from 1 than the rounding of what is computed from it


def crop_regions(
    maps: Sequence[Tensor], boxes: Tensor, *, size: int, height: Tensor, width: Tensor
) -> Tensor:
    """Cut normalized boxes (B, P, 4) out of feature maps (B, h, w, C): (R, size, size, C).

    Of several maps, the finest first, a box is cut out of the one that suits its size on an image
    of this height and width.
    """
    image = ops.repeat(ops.arange(ops.shape(boxes)[0], dtype="int32"), ops.shape(boxes)[1])  # (R,)
    flat = ops.reshape(boxes, (-1, 4))
    if len(maps) == 1:
        return _crop(maps[0], flat, image, size)
    level = ops.reshape(region_levels(boxes, len(maps), height, width), (-1,))  # (R,)
    places = [tf.cast(tf.where(level == index)[:, 0], "int32") for index in range(len(maps))]
    crops = [
        _crop(each, tf.gather(flat, place), tf.gather(image, place), size)
        for each, place in zip(maps, places, strict=True)
    ]
    back = tf.argsort(tf.concat(places, 0))  # where each region stands behind the others' levels
    back = tf.ensure_shape(back, flat.shape[:1])
    return tf.gather(tf.concat(crops, 0), back)


def inside_border(boxes: Tensor) -> Tensor:
    """Draw normalized boxes that end on the border of the image in by a millionth of its side.

    The last bit of a float decides whether their last points lie on a map or beyond it, where the
    kernel sees 0. It differs between runtimes, so that a box would lose its last row in one of
    them. A training keeps the numbers of the OD API, which leaves it to that bit.

    >>> inside_border(ops.array([0.25, 1.0])).numpy().tolist()
    [0.25, 0.9999989867210388]
    """
    return ops.minimum(boxes, _BORDER)


def pool_regions(regions: Tensor, *, kernel_size: int, stride: int) -> Tensor:
    """Take the largest value of each window; a kernel of 0 or 1 changes nothing."""
    if kernel_size <= 1 and stride <= 1:
        return regions
    return ops.max_pool(regions, kernel_size, strides=stride, padding="valid")


def region_levels(boxes: Tensor, num_levels: int, height: Tensor, width: Tensor) -> Tensor:
    """Give the map, int32 (B, P), that each normalized box is cut out of; 0 is the finest.

    A box of 224 x 224 pixels belongs to the last map but one, one twice as large to the next.

    >>> boxes = ops.array([[[0.0, 0.0, 0.5, 0.5], [0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]])
    >>> region_levels(boxes, 4, 448, 448).numpy().tolist()
    [[2, 3, 0]]
    """
    y_min, x_min, y_max, x_max = corners(boxes)
    pixels = ops.cast(height * width, "float32")
    side = ops.sqrt((y_max - y_min) * (x_max - x_min)) * (ops.sqrt(pixels) / _CANONICAL_SIDE)
    # A box without area belongs to the finest map.
    octave = ops.floor(ops.log(ops.maximum(side, 1e-30)) / np.log(2.0))
    return ops.clip(ops.cast(octave, "int32") + num_levels - 2, 0, num_levels - 1)


def _crop(features: Tensor, boxes: Tensor, image: Tensor, size: int) -> Tensor:
    crops = tf.image.crop_and_resize(_supported(features), boxes, image, (size, size))
    return tf.cast(crops, features.dtype)


def _supported(features: Tensor) -> Tensor:
    """Cast what the kernel does not take."""
    return tf.cast(features, tf.float32) if features.dtype == tf.bfloat16 else features
