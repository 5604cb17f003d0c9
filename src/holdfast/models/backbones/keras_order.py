"""The order in which TF2 checkpoints number the layers of a network."""

from __future__ import annotations

from collections.abc import Iterator

import keras

from holdfast.models.layers.fake_quantization import FakeQuantizer


def keras_order(part: keras.layers.Layer) -> list[keras.layers.Layer]:
    """List the layers of a built part that hold variables, as `layer_with_weights-N` counts them.

    That is the order of creation. A block whose layers are counted otherwise says so itself, by an
    attribute `keras_order` that lists them.
    """
    return list(_walk(part))


def _walk(layer: keras.layers.Layer) -> Iterator[keras.layers.Layer]:
    children = getattr(layer, "keras_order", layer._layers)
    if not children and layer.weights:
        yield layer
    for child in (each for each in children if not isinstance(each, FakeQuantizer)):
        yield from _walk(child)
