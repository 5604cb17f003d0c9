"""What the inputs of training and of evaluation do alike on the way from records to batches."""

from __future__ import annotations

from typing import Protocol

import tensorflow as tf

from holdfast.data.sample import Sample, Tensor
from holdfast.data.sources.tfrecord import Parsed
from holdfast.data.survey.box_validity import Reason

# Translating the functions of a data set, as TensorFlow does unasked, takes seconds at every start;
# ours are written in TensorFlow's own terms.
as_written = tf.autograph.experimental.do_not_convert


def usable_sample(parsed: Parsed) -> Sample:
    """Give the sample of a record; what cannot be used should have been left out."""
    usable = tf.debugging.assert_equal(
        parsed.reason,
        int(Reason.KEPT),
        "a record cannot be used; leave out what `holdfast inspect` names",
    )
    with tf.control_dependencies([usable]):
        return parsed.sample._replace(image=tf.identity(parsed.sample.image))


class ObjectPadding(Protocol):
    """Pads a list of objects to a fixed length, by default with zeros, texts with ""."""

    def __call__(self, values: Tensor, fill: float = 0.0) -> Tensor:
        """Give (max_boxes, ...) of (N, ...)."""


def object_padding(count: Tensor, max_boxes: int) -> ObjectPadding:
    """Make the function that pads lists of objects to a fixed length.

    Too many objects are an error, never a cut.
    """
    check = tf.debugging.assert_less_equal(
        count, max_boxes, f"an image has more boxes than the bound of {max_boxes}"
    )
    with tf.control_dependencies([check]):
        missing = tf.identity(max_boxes - count)

    def pad(values: Tensor, fill: float = 0.0) -> Tensor:
        if values.dtype == tf.string:  # which tf.pad does not take
            padded = tf.concat([values, tf.fill([missing], "")], axis=0)
        else:
            rest = [[0, 0]] * (values.shape.rank - 1)
            padded = tf.pad(values, [[0, missing], *rest], constant_values=_cast(fill, values))
        return tf.ensure_shape(padded, [max_boxes, *values.shape[1:]])

    return pad


def _cast(fill: float, like: Tensor) -> Tensor:
    return tf.cast(fill, like.dtype)


def planned_options() -> tf.data.Options:
    """Give the options of a data set whose order and buffers are planned."""
    options = tf.data.Options()
    options.deterministic = True
    # Autotuning would grow buffers beyond the plan.
    options.autotune.enabled = False
    return options
