"""Masks of whole classes: united from those of objects, and cut to those of detections."""

from __future__ import annotations

import tensorflow as tf
from keras import ops

from holdfast.geometry.mask_bits import unpack_masks
from holdfast.geometry.one_by_one import one_by_one
from holdfast.geometry.regions import inside_border
from holdfast.geometry.tensor import Tensor

# B images, G objects (padded with weight 0), N detections, C classes; maps of h x w cells


def united_masks(
    masks: Tensor,
    classes: Tensor,
    weights: Tensor,
    shape: tuple[Tensor, Tensor],
    *,
    num_classes: int,
    width: Tensor | None = None,
) -> Tensor:
    """Unite the masks (B, G, H, W) of each class on maps of a shape (h, w): (B, h, w, C).

    width: W of masks that are packed (B, G, H, ceil(W / 8)). One mask is unpacked at a time.
    """

    def shrunk(mask: Tensor) -> Tensor:
        whole = mask if width is None else unpack_masks(mask, width)
        return ops.image.resize(ops.cast(whole, "float32")[..., None], shape)[..., 0]

    def of_image(image: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        masks, classes, weights = image
        counts = ops.cast(weights > 0.0, "float32")[:, None, None]
        small = one_by_one(shrunk, masks, shape) * counts  # (G, h, w)
        united = ops.segment_max(small, classes, num_classes)  # (C, h, w)
        return ops.transpose(ops.maximum(united, 0.0), (1, 2, 0))

    return one_by_one(of_image, (masks, classes, weights), (*shape, num_classes))


def cut_masks(maps: Tensor, boxes: Tensor, classes: Tensor, size: tuple[int, int]) -> Tensor:
    """Cut boxes (B, N, 4) out of the maps (B, h, w, C) of their classes (B, N), to one size.

    Boxes are normalized to the maps; the result is (B, N, height, width).
    """
    batch, height, width, num_classes = ops.shape(maps)
    by_class = ops.transpose(maps, (0, 3, 1, 2))  # (B, C, h, w)
    first = ops.arange(batch, dtype="int32")[:, None] * num_classes
    crops = tf.image.crop_and_resize(
        ops.reshape(by_class, (batch * num_classes, height, width, 1)),
        ops.reshape(inside_border(boxes), (-1, 4)),
        ops.reshape(first + classes, (-1,)),
        size,
    )
    return ops.reshape(crops, (batch, ops.shape(classes)[1], *size))
