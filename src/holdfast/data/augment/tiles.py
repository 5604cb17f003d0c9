"""The image beside itself."""

from __future__ import annotations

import tensorflow as tf

from holdfast.data.augment.augmentations import augmentation
from holdfast.data.augment.draws import sometimes, uniforms
from holdfast.data.augment.frames import change_frame
from holdfast.data.sample import Sample, Tensor

_BELOW, _BESIDE = 0, 1  # axes of the image


@augmentation
def random_self_concat_image(
    sample: Sample,
    seed: Tensor,
    *,
    concat_vertical_probability: float = 0.1,
    concat_horizontal_probability: float = 0.1,
) -> Sample:
    """Put a copy of image and objects below and, by another choice, beside them."""
    below, beside = uniforms(seed, 2)
    sample = sometimes(below, concat_vertical_probability, _doubled_below, sample)
    return sometimes(beside, concat_horizontal_probability, _doubled_beside, sample)


def _doubled_below(sample: Sample) -> Sample:
    return _doubled(sample, _BELOW)


def _doubled_beside(sample: Sample) -> Sample:
    return _doubled(sample, _BESIDE)


def _doubled(sample: Sample, axis: int) -> Sample:
    """Join two halves, each the image with nothing in the place of the other."""
    first = change_frame(sample, tf.constant([0.0, 0.0, 2.0 - axis, 1.0 + axis]))
    second = change_frame(sample, tf.constant([axis - 1.0, -float(axis), 1.0, 1.0]))
    if sample.masks is not None:
        nothing = tf.zeros_like(sample.masks)
        first = first._replace(masks=tf.concat([sample.masks, nothing], axis=axis + 1))
        second = second._replace(masks=tf.concat([nothing, sample.masks], axis=axis + 1))
    joined = {
        name: tf.concat([value, getattr(second, name)], axis=0)
        for name, value in first._asdict().items()
        if name not in ("image", "source_id") and value is not None
    }
    image = tf.concat([sample.image, sample.image], axis=axis)
    return sample._replace(**joined)._replace(image=image)
