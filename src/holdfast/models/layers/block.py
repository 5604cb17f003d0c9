"""A layer made of layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras

from holdfast.models.layers.recomputation import recomputed


class Block(keras.layers.Layer):
    """A layer whose variables are all in the layers it calls.

    `rematerializes`: in training, what is inside is computed again for the gradient instead of
    being kept. It is off until someone sets it.
    """

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.rematerializes = False

    # Without it Keras traces the call once more before the first one, at each level of nesting.
    def build(self, input_shape: Any) -> None:
        pass

    def __call__(self, inputs: Any, *arguments: Any, **keywords: Any) -> Any:
        if not (self.built and self.rematerializes and keywords.get("training")):
            return super().__call__(inputs, *arguments, **keywords)
        call = super().__call__
        variables = [variable.value for variable in self.trainable_variables]
        return recomputed(lambda again: call(again, *arguments, **keywords), inputs, variables)


def outermost_blocks(part: keras.layers.Layer) -> Iterator[Block]:
    """Yield the blocks that are a part's own attributes, in the order of their making."""
    seen: set[int] = set()
    for value in vars(part).values():
        for each in value if isinstance(value, list | tuple) else [value]:
            if isinstance(each, Block) and id(each) not in seen:
                seen.add(id(each))
                yield each
