"""Dropout whose seed has a stable path, so that a resumed run goes on with the same numbers."""

from __future__ import annotations

from typing import Any

import keras

from holdfast.geometry.tensor import Tensor


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
        return keras.random.dropout(inputs, self.rate, seed=self.seed) if training else inputs
