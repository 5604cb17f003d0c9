"""Something done to one after the other, so that no more than one needs its memory at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from holdfast.geometry.tensor import Tensor


def one_by_one(function: Callable[..., Tensor], values: Any, shape: tuple[Tensor, ...]) -> Tensor:
    """Call a function with each row of a tensor, or of several, and stack what it gives.

    shape: of a float32 result. Keras' own loop runs ten rounds at once.
    """
    sides = tuple(side if isinstance(side, int) else None for side in shape)
    return tf.map_fn(
        function, values, fn_output_signature=tf.TensorSpec(sides), parallel_iterations=1
    )
