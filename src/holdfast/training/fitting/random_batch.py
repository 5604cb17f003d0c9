"""A batch of noise, as large as the worst one, to be trained on without learning."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from holdfast.data.sample import Batch, GroundTruth

# Masks that cover everything, keypoints in the corner: their values change no memory.
_FULL = {"mask_bits": 255, "group_of": 0, "is_crowd": 0, "difficult": 0}


def random_batch(specification: Batch, num_classes: int) -> Batch:
    """Fill what a specification describes; every image has all its boxes."""
    random = np.random.default_rng(0)
    images, truth = specification.images, specification.truth
    corners = random.random((*truth.boxes.shape[:2], 2), np.float32) * 0.6
    sides = 0.05 + 0.3 * random.random(corners.shape, np.float32)
    classes = random.integers(0, num_classes, corners.shape[:2], np.int32)
    batch_size, height, width = images.shape[:3]
    known = {
        "boxes": tf.constant(np.concatenate([corners, corners + sides], axis=-1)),
        "classes": tf.constant(classes),
        "weights": tf.ones(corners.shape[:2]),
    }
    further = {
        name: _filled(each, _FULL.get(name, 1))
        for name, each in truth._asdict().items()
        if name not in known and isinstance(each, tf.TensorSpec)
    }
    return Batch(
        images=tf.cast(255.0 * random.random(images.shape, np.float32), images.dtype),
        sizes=tf.constant([[height, width, 3]] * batch_size, tf.int32),
        truth=GroundTruth(**known, **further),
        source_ids=tf.constant([""] * batch_size),
        positions=tf.range(batch_size, dtype=tf.int64),
    )


def _filled(specification: tf.TensorSpec, value: int) -> Any:
    return tf.fill(specification.shape, tf.cast(value, specification.dtype))
