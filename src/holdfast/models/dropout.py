"""Dropout by stateless random numbers, so that a resumed or repeated run draws the same ones."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from holdfast.geometry.tensor import Tensor
from holdfast.models.recomputation import same_seed


class Dropout(keras.layers.Layer):
    """Zero a share of the features in training, and scale up the rest to keep their mean.

    Keras' own layer numbers its seeds over the whole process: their paths depend on what else was
    built before.
    """

    def __init__(self, rate: float, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.rate = rate

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        self.seed = keras.random.SeedGenerator(name="seed")

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        return self.dropped(inputs, tf.shape(inputs)) if training else inputs

    def dropped(self, inputs: Tensor, shape: Tensor) -> Tensor:
        """Drop by one random number for each entry of a shape that broadcasts to the inputs'."""
        seed = tf.cast(same_seed(self.seed.next), tf.int64)
        is_kept = tf.random.stateless_uniform(shape, seed) >= self.rate
        return inputs * tf.cast(is_kept, inputs.dtype) / (1.0 - self.rate)
