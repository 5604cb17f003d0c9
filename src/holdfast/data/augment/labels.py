"""Changes of classes and class scores; pixels and boxes stay as they are."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from holdfast.data.augment.augmentations import view_augmentation
from holdfast.data.augment.frames import keep_objects
from holdfast.data.sample import Sample, Tensor

# The labels of a config are label-map ids, from 1; the classes of a sample count from 0.
_FIRST_LABEL = 1


@view_augmentation
def drop_label_probabilistically(
    sample: Sample, seed: Tensor, *, label: int = 0, drop_probability: float = 1.0
) -> Sample:
    """Remove each object of one class with a probability."""
    draws = tf.random.stateless_uniform(tf.shape(sample.classes), seed)
    drop = (draws < drop_probability) & (sample.classes == label - _FIRST_LABEL)
    return keep_objects(sample, ~drop)


@view_augmentation
def remap_labels(
    sample: Sample, seed: Tensor, *, original_labels: Sequence[int] = (), new_label: int = 0
) -> Sample:
    """Give several classes the label of one."""
    if not original_labels:
        return sample
    originals = tf.constant([label - _FIRST_LABEL for label in original_labels])
    is_original = tf.reduce_any(sample.classes[:, tf.newaxis] == originals, axis=1)
    return sample._replace(classes=tf.where(is_original, new_label - _FIRST_LABEL, sample.classes))


@view_augmentation
def convert_class_logits_to_softmax(
    sample: Sample, seed: Tensor, *, temperature: float = 1.0
) -> Sample:
    """Turn the multiclass scores, which must be logits, into probabilities, if there are any."""
    if sample.multiclass_scores is None:
        return sample
    return sample._replace(multiclass_scores=tf.nn.softmax(sample.multiclass_scores / temperature))
