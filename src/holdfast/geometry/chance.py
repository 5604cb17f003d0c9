"""Random numbers that follow from what they are for: the run's seed, the image, the place.

Nothing here keeps a state. An image draws the same numbers whether its batch is computed whole, in
pieces or on several devices, and again when a step is repeated or a run is resumed.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence

import tensorflow as tf

from holdfast.geometry.tensor import Tensor

# B images; seeds are int64 (B, 2)


def image_seeds(seed: int, positions: Tensor) -> Tensor:
    """Give the seeds of images by their positions (B,) in the endless stream of a training."""
    positions = tf.cast(positions, tf.int64)
    return tf.stack([tf.fill(tf.shape(positions), tf.constant(seed, tf.int64)), positions], axis=-1)


def fresh_seeds(batch_size: Tensor) -> Tensor:
    """Draw seeds that differ from call to call, for a network that is called outside a training.

    A seed is named because TensorFlow refuses to draw without one after a deterministic training.
    """
    seed = random.getrandbits(31)
    return tf.random.uniform((batch_size, 2), maxval=tf.int64.max, dtype=tf.int64, seed=seed)


def seeds_at(seeds: Tensor, place: str) -> Tensor:
    """Give the seeds for one place, such as the path of a layer: places draw independently."""
    return seeds + tf.constant([zlib.crc32(place.encode()) << 31, 0], tf.int64)


def uniform(seeds: Tensor, shape: Sequence[int] | Tensor) -> Tensor:
    """Draw a float32 tensor of a shape, between 0 and 1, for each image: (B, *shape).

    >>> seeds = image_seeds(7, [0, 1, 2, 3])
    >>> drawn = uniform(seeds, [5])
    >>> bool((drawn[2:] == uniform(seeds[2:], [5])).numpy().all())
    True
    """

    def draw(seed: Tensor) -> Tensor:
        return tf.random.stateless_uniform(shape, seed)

    if seeds.shape[0] is None:
        return tf.map_fn(draw, seeds, fn_output_signature=tf.float32)
    return tf.stack([draw(seed) for seed in tf.unstack(seeds)])
