"""A look at what layers give, without a change of what they compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import keras

LayerObserver = Callable[[keras.layers.Layer, Any], None]  # a layer, and what it gave


@contextmanager
def observed_layers(observer: LayerObserver) -> Iterator[None]:
    """Let the observer see what every layer gives, as long as the context lasts, inner ones first.

    Keras has no such hook. A function that is traced in the context keeps what the observer made of
    the outputs; others are not touched.
    """
    call = keras.layers.Layer.__call__

    def observed(layer: keras.layers.Layer, *arguments: Any, **keywords: Any) -> Any:
        outputs = call(layer, *arguments, **keywords)
        observer(layer, outputs)
        return outputs

    setattr(keras.layers.Layer, "__call__", observed)  # noqa: B010  a method, to mypy
    try:
        yield
    finally:
        setattr(keras.layers.Layer, "__call__", call)  # noqa: B010


def layer_group(path: str) -> str:
    """Name the block that a variable or a layer belongs to, by its path.

    >>> layer_group("detector/backbone/conv1/kernel")
    'backbone/conv1'
    """
    return "/".join(path.split("/")[1:3])
