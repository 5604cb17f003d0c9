"""Dropout by random numbers of each image's own, so that repeated and split steps draw alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from holdfast.geometry.chance import uniform
from holdfast.geometry.tensor import Tensor
from holdfast.models.layers.randomness import current_chunk, layer_seeds


class Dropout(keras.layers.Layer):
    """Zero a share of the features in training, and scale up the rest to keep their mean.

    Keras' own layer draws from a state that it changes: a piece of a batch would not draw what it
    draws as a part of the whole.
    """

    def __init__(self, rate: float, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.rate = rate

    @property
    def _place(self) -> str:
        """Where in the network this is; the network's own name may differ from build to build."""
        return str(self.path).partition("/")[2]

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        return self.dropped(inputs, tf.shape(inputs)[1:]) if training else inputs

    def dropped(self, inputs: Tensor, shape: Sequence[int] | Tensor) -> Tensor:
        """Drop by one random number for each entry of an image's shape, or one that broadcasts."""
        seeds = layer_seeds(self._place, inputs.shape[0] or tf.shape(inputs)[0])
        is_kept = _drawn(seeds, inputs, shape) >= self.rate
        return inputs * tf.cast(is_kept, inputs.dtype) / (1.0 - self.rate)


def _drawn(seeds: Tensor, inputs: Tensor, shape: Sequence[int] | Tensor) -> Tensor:
    """Draw one number for each entry of a shape, for each row of the inputs.

    The rows are images, or an equal number of regions of each image: they share its seed. A chunk
    of the regions draws what it draws among all of them.
    """
    chunk = current_chunk()
    if chunk is not None:
        drawn = uniform(seeds, tf.concat([[chunk.regions], shape], axis=0))
        drawn = drawn[:, chunk.start : chunk.end]
        return tf.reshape(drawn, tf.concat([[-1], shape], axis=0))
    if seeds.shape[0] is not None and seeds.shape[0] == inputs.shape[0]:
        return uniform(seeds, shape)
    rows, images = tf.shape(inputs)[0], tf.shape(seeds)[0]
    drawn = uniform(seeds, tf.concat([[rows // images], shape], axis=0))
    return tf.reshape(drawn, tf.concat([[rows], shape], axis=0))
