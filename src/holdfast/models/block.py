"""A layer made of layers."""

from __future__ import annotations

from typing import Any

import keras


class Block(keras.layers.Layer):
    """A layer whose variables are all in the layers it calls.

    Without a `build` of its own Keras traces a layer's call once more before the first one, at each
    level of nesting, which makes deep networks several times slower to build.
    """

    def build(self, input_shape: Any) -> None:
        pass
