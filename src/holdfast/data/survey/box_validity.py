"""Which boxes can be learned from, and why the others are left out."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import tensorflow as tf

from holdfast.data.sample import Sample, Tensor

# Annotation tools round to pixels, so boxes end a little outside; beyond this it is a mistake.
OUTSIDE_TOLERANCE = 0.01
# A normalized box never reaches this; a box in pixels of any real image does.
PIXEL_THRESHOLD = 2.0


class Reason(IntEnum):
    """Why a box or an image is left out; 0 = it is kept."""

    KEPT = 0
    NOT_A_NUMBER = 1
    PIXELS = 2
    SWAPPED = 3
    DEGENERATE = 4
    OUTSIDE = 5
    UNKNOWN_CLASS = 6
    NO_CLASS = 7
    COUNTS_DIFFER = 8
    NO_IMAGE = 9
    NOT_DECODABLE = 10
    DUPLICATE_ID = 11
    UNREADABLE = 12
    SAME_ID = 13
    BAD_MASK = 14

    @property
    def text(self) -> str:
        """Say it in words."""
        return _TEXTS[self]


_TEXTS = {
    Reason.KEPT: "kept",
    Reason.NOT_A_NUMBER: "a coordinate is not a number",
    Reason.PIXELS: "far outside of the image: in pixels instead of 0..1, or drawn on an "
    "image of another size",
    Reason.SWAPPED: "minimum and maximum are swapped",
    Reason.DEGENERATE: "no height or no width",
    Reason.OUTSIDE: "outside of the image",
    Reason.UNKNOWN_CLASS: "the class is not in the label map",
    Reason.NO_CLASS: "the class id is 0 or negative",
    Reason.COUNTS_DIFFER: "numbers of coordinates and labels differ",
    Reason.NO_IMAGE: "there is no image",
    Reason.NOT_DECODABLE: "the image cannot be decoded",
    Reason.DUPLICATE_ID: "the same image with the same id and boxes was there before",
    Reason.UNREADABLE: "it cannot be read",
    Reason.SAME_ID: "another image has the same source id",
    Reason.BAD_MASK: "a mask cannot be decoded, or is not as large as the image",
}


class Judgment(NamedTuple):
    """A sample reduced to what can be learned from, and what became of each box."""

    sample: Sample
    reasons: Tensor  # int32 (boxes as written,) a Reason each
    clipped: Tensor  # int32 () boxes kept whose part outside of the image was cut off


def judge(sample: Sample, num_classes: int | None = None) -> Judgment:
    """Leave out boxes that cannot be learned from; nothing else is changed but rims clipped.

    `num_classes` is the largest label-map id; None: any class above 0 counts.
    """
    reasons = box_reasons(sample.boxes, sample.classes, num_classes)
    keep = tf.where(reasons == int(Reason.KEPT))[:, 0]  # indices: cheaper than a mask per field
    kept = sample.with_objects(lambda values: tf.gather(values, keep))
    boxes = tf.clip_by_value(kept.boxes, 0.0, 1.0)
    clipped = tf.reduce_sum(tf.cast(tf.reduce_any(boxes != kept.boxes, axis=-1), tf.int32))
    return Judgment(kept._replace(boxes=boxes), reasons, clipped)


def box_reasons(boxes: Tensor, classes: Tensor, num_classes: int | None = None) -> Tensor:
    """Give each box its Reason, int32 (N,); the first that applies, in the order of the enum."""
    boxes, classes = tf.convert_to_tensor(boxes), tf.convert_to_tensor(classes)
    top_left, bottom_right = boxes[:, :2], boxes[:, 2:]
    size = bottom_right - top_left  # (N, 2)
    checks = {
        Reason.NOT_A_NUMBER: tf.reduce_any(~tf.math.is_finite(boxes), axis=-1),
        Reason.PIXELS: tf.reduce_max(tf.abs(boxes), axis=-1) >= PIXEL_THRESHOLD,
        Reason.SWAPPED: tf.reduce_any(size < 0.0, axis=-1),
        Reason.DEGENERATE: tf.reduce_any(_visible(boxes) <= 0.0, axis=-1),
        Reason.OUTSIDE: tf.reduce_any(
            (boxes < -OUTSIDE_TOLERANCE) | (boxes > 1.0 + OUTSIDE_TOLERANCE), axis=-1
        ),
        Reason.UNKNOWN_CLASS: classes >= num_classes
        if num_classes is not None
        else tf.zeros_like(classes, tf.bool),
        Reason.NO_CLASS: classes < 0,
    }
    reasons = tf.zeros_like(classes, tf.int32)
    for reason, applies in reversed(checks.items()):
        reasons = tf.where(applies, int(reason), reasons)
    return reasons


def _visible(boxes: Tensor) -> Tensor:
    """Height and width of what lies inside the image; of the whole box if that is far outside."""
    far = tf.reduce_any(
        (boxes < -OUTSIDE_TOLERANCE) | (boxes > 1.0 + OUTSIDE_TOLERANCE), axis=-1, keepdims=True
    )
    seen = tf.where(far, boxes, tf.clip_by_value(boxes, 0.0, 1.0))
    return seen[:, 2:] - seen[:, :2]
