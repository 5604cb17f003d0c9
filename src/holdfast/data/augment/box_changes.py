"""Changes of boxes; pixels stay as they are."""

from __future__ import annotations

from enum import StrEnum

import tensorflow as tf

from holdfast.data.augment.augmentations import view_augmentation
from holdfast.data.augment.views import sides_of
from holdfast.data.sample import Sample, Tensor
from holdfast.errors import HoldfastError


class JitteredSides(StrEnum):
    """How the sides of a box move."""

    DEFAULT = "DEFAULT"  # each on its own, out or in
    EXPAND = "EXPAND"  # each on its own, out
    SHRINK = "SHRINK"  # each on its own, in
    EXPAND_SYMMETRIC = "EXPAND_SYMMETRIC"  # opposite sides alike: the center stays
    SHRINK_SYMMETRIC = "SHRINK_SYMMETRIC"
    EXPAND_SYMMETRIC_XY = "EXPAND_SYMMETRIC_XY"  # all sides alike: the aspect ratio stays too
    SHRINK_SYMMETRIC_XY = "SHRINK_SYMMETRIC_XY"


@view_augmentation
def random_jitter_boxes(
    sample: Sample, seed: Tensor, *, ratio: float = 0.05, jitter_mode: str = JitteredSides.DEFAULT
) -> Sample:
    """Move the sides of boxes by up to half of ratio times the box's height or width.

    (The distance from center to side is what changes by up to ratio.) Boxes stay in the image.
    """
    if not 0.0 <= ratio < 1.0:
        raise HoldfastError(
            f"random_jitter_boxes: ratio is {ratio}; such boxes could turn inside out.",
            fix="Use a part of the box's size, e.g. 0.05.",
        )
    mode = JitteredSides(jitter_mode)
    top_left, bottom_right = sample.boxes[:, :2], sample.boxes[:, 2:]
    center = (top_left + bottom_right) / 2.0  # (N, 2)
    size = tf.maximum(tf.abs(bottom_right - top_left), 1e-6)  # (N, 2)
    low = 0.0 if "EXPAND" in mode else -ratio
    high = 0.0 if "SHRINK" in mode else ratio
    draws = tf.random.stateless_uniform([tf.shape(sample.boxes)[0], 4], seed, low, high)
    factors = 1.0 + draws  # (N, 4): of the distances from the center to top, left, bottom, right
    if "SYMMETRIC" in mode:
        factors = _symmetric(factors, center, size, alike="XY" in mode)
    top_left = center - size * factors[:, :2] / 2.0
    bottom_right = center + size * factors[:, 2:] / 2.0
    boxes = tf.clip_by_value(tf.concat([top_left, bottom_right], axis=1), 0.0, 1.0)
    return sample._replace(boxes=boxes)


@view_augmentation
def scale_boxes_to_pixel_coordinates(sample: Sample, seed: Tensor) -> Sample:
    """Express boxes and keypoints in pixels: from here on they are not normalized any more."""
    sides = tf.cast(sides_of(sample.image), tf.float32)
    keypoints = sample.keypoints
    if keypoints is not None:
        keypoints = keypoints * sides
    return sample._replace(boxes=sample.boxes * tf.tile(sides, [2]), keypoints=keypoints)


def _symmetric(factors: Tensor, center: Tensor, size: Tensor, *, alike: bool) -> Tensor:
    """Let opposite sides (alike: all sides) share a factor that keeps the box in the image."""
    factors = factors[:, :2]  # (N, 2): of height and width
    room = 2.0 * tf.minimum(center, 1.0 - center) / size
    if alike:
        factors = tf.repeat(factors[:, :1], 2, axis=1)
        room = tf.repeat(tf.reduce_min(room, axis=1, keepdims=True), 2, axis=1)
    return tf.tile(tf.minimum(factors, room), [1, 2])
