"""Objects seen from another frame: a window of the image becomes the whole image.

A window is float32 (4,): y_min, x_min, y_max, x_max, normalized to the image it is cut from; one
that reaches beyond 0..1 is a padding.
"""

from __future__ import annotations

import tensorflow as tf

from holdfast.data.augment.views import View, cut_image, sides_of
from holdfast.data.sample import Sample, Tensor


def cut(sample: Sample, corner: Tensor, size: Tensor) -> Sample:
    """Cut image and masks to a rectangle of pixels: corner (y, x) and size (height, width)."""
    masks = sample.masks
    if masks is not None:
        begin, extent = tf.concat([[0], corner], axis=0), tf.concat([[-1], size], axis=0)
        masks = tf.slice(masks, begin, extent)
    return sample._replace(image=cut_image(sample.image, corner, size), masks=masks)


def window_of(corner: Tensor, size: Tensor, image: Tensor | View) -> Tensor:
    """Normalize a rectangle of pixels to the image."""
    sides = tf.cast(sides_of(image), tf.float32)
    corner, size = tf.cast(corner, tf.float32), tf.cast(size, tf.float32)
    return tf.concat([corner / sides, (corner + size) / sides], axis=0)


def change_frame(sample: Sample, window: Tensor) -> Sample:
    """Express boxes and keypoints in the window's frame; nothing is clipped or removed."""
    corner, end = tf.split(window, 2)
    size = end - corner
    corners = tf.reshape(sample.boxes, [-1, 2, 2])  # (N, 2, 2): of each box the low and the high
    boxes = tf.reshape((corners - corner) / size, [-1, 4])
    keypoints = sample.keypoints
    if keypoints is not None:
        keypoints = (keypoints - corner) / size
    return sample._replace(boxes=boxes, keypoints=keypoints)


def keep_overlapping(
    sample: Sample, window: Tensor, *, overlap: float | Tensor, clip: bool | Tensor
) -> Sample:
    """Go to the window's frame with the objects that have enough of their box in it.

    overlap: the least part of a box's area inside; at 0 a touch is still not enough, because an
    object outside of the picture cannot be learned. clip: cut boxes at the window's border and
    forget keypoints beyond it; else both may lie outside of 0..1.
    """
    inside = _inside_fraction(sample.boxes, window)
    framed = change_frame(sample, window)
    clipped = tf.clip_by_value(framed.boxes, 0.0, 1.0)
    # A sliver can lose its last bit of width to rounding, and a box without area is no box.
    keep = (inside >= overlap) & has_area(clipped)
    boxes = clipped if clip is True else tf.where(clip, clipped, framed.boxes)
    return keep_objects(forget_keypoints_outside(framed._replace(boxes=boxes), clip), keep)


def forget_keypoints_outside(sample: Sample, forget: bool | Tensor = True) -> Sample:
    """Make keypoints beyond the image NaN, the mark of an unlabeled one, and invisible."""
    if sample.keypoints is None:
        return sample
    is_inside = tf.reduce_all((sample.keypoints >= 0.0) & (sample.keypoints <= 1.0), axis=-1)
    is_outside = forget & ~is_inside
    keypoints = tf.where(is_outside[..., tf.newaxis], float("nan"), sample.keypoints)
    visibilities = sample.visibilities
    if visibilities is not None:
        visibilities = visibilities & ~is_outside
    return sample._replace(keypoints=keypoints, visibilities=visibilities)


def keep_objects(sample: Sample, keep: Tensor) -> Sample:
    """Keep the objects whose flag, bool (N,), is set."""
    chosen = tf.reshape(tf.where(keep), [-1])
    return sample.with_objects(lambda values: tf.gather(values, chosen))


def has_area(boxes: Tensor) -> Tensor:
    """Tell which boxes are wider and higher than 0."""
    low, high = tf.split(boxes, 2, axis=1)
    return tf.reduce_all(high > low, axis=1)


def _inside_fraction(boxes: Tensor, window: Tensor) -> Tensor:
    """Measure which part of each box's area lies in the window, 0 for a box without area."""
    (low, high), (corner, end) = tf.split(boxes, 2, axis=1), tf.split(window, 2)
    common = tf.maximum(tf.minimum(high, end) - tf.maximum(low, corner), 0.0)  # (N, 2)
    area, common_area = tf.reduce_prod(high - low, axis=1), tf.reduce_prod(common, axis=1)
    return tf.math.divide_no_nan(common_area, area)
