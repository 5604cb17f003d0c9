"""Objects seen from another frame: a window of the image becomes the whole image.

A window is float32 (4,): y_min, x_min, y_max, x_max, normalised to the image it is cut from; one
that reaches beyond 0..1 is a padding.
"""

from __future__ import annotations

import tensorflow as tf

from holdfast.data.sample import Sample, Tensor


def cut(sample: Sample, corner: Tensor, size: Tensor) -> Sample:
    """Cut image and masks to a rectangle of pixels: corner (y, x) and size (height, width)."""
    (top, left), (height, width) = tf.unstack(corner), tf.unstack(size)
    rows, columns = slice(top, top + height), slice(left, left + width)
    masks = sample.masks if sample.masks is None else sample.masks[:, rows, columns]
    return sample._replace(image=sample.image[rows, columns], masks=masks)


def window_of(corner: Tensor, size: Tensor, image: Tensor) -> Tensor:
    """Normalise a rectangle of pixels to the image."""
    sides = tf.cast(tf.shape(image)[:2], tf.float32)
    corner, size = tf.cast(corner, tf.float32), tf.cast(size, tf.float32)
    return tf.concat([corner / sides, (corner + size) / sides], axis=0)


def change_frame(sample: Sample, window: Tensor) -> Sample:
    """Express boxes and keypoints in the window's frame; nothing is clipped or removed."""
    corner, size = window[:2], window[2:] - window[:2]
    boxes = (sample.boxes - tf.tile(corner, [2])) / tf.tile(size, [2])
    keypoints = sample.keypoints
    if keypoints is not None:
        keypoints = (keypoints - corner) / size
    return sample._replace(boxes=boxes, keypoints=keypoints)


def keep_overlapping(
    sample: Sample, window: Tensor, *, overlap: float | Tensor, clip: bool | Tensor
) -> Sample:
    """Go to the window's frame with the objects that have enough of their box in it.

    overlap: the least part of a box's area inside; at 0 a touch is still not enough, because an
    object outside of the picture cannot be learnt. clip: cut boxes at the window's border and
    forget keypoints beyond it; else both may lie outside of 0..1.
    """
    inside = _inside_fraction(sample.boxes, window)
    framed = change_frame(sample, window)
    clipped = tf.clip_by_value(framed.boxes, 0.0, 1.0)
    # A sliver can lose its last bit of width to rounding, and a box without area is no box.
    keep = (inside > 0.0) & (inside >= overlap) & has_area(clipped)
    framed = framed._replace(boxes=tf.where(clip, clipped, framed.boxes))
    return keep_objects(forget_keypoints_outside(framed, clip), keep)


def forget_keypoints_outside(sample: Sample, forget: bool | Tensor = True) -> Sample:
    """Make keypoints beyond the image NaN, the mark of an unlabelled one, and invisible."""
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
    chosen = tf.where(keep)[:, 0]
    return sample.with_objects(lambda values: tf.gather(values, chosen))


def has_area(boxes: Tensor) -> Tensor:
    """Tell which boxes are wider and higher than 0."""
    return tf.reduce_all(boxes[:, 2:] > boxes[:, :2], axis=1)


def _inside_fraction(boxes: Tensor, window: Tensor) -> Tensor:
    """Measure which part of each box's area lies in the window, 0 for a box without area."""
    top_left = tf.maximum(boxes[:, :2], window[:2])
    bottom_right = tf.minimum(boxes[:, 2:], window[2:])
    common = tf.reduce_prod(tf.maximum(bottom_right - top_left, 0.0), axis=1)
    return tf.math.divide_no_nan(common, tf.reduce_prod(boxes[:, 2:] - boxes[:, :2], axis=1))
