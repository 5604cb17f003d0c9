"""Take the memory of large tensors in one piece, before the first step.

Left to itself, TensorFlow's allocator takes ever larger regions, and what is freed at the end of
one and at the beginning of the next never becomes one. Tensors of a step then lie in more memory
than they need, each time in another one.
"""

from __future__ import annotations

from contextlib import suppress

import tensorflow as tf

_ROW = 2**20


def reserve(size: int) -> None:
    """Make the allocator of the CPU keep so many bytes in one piece, none of them written to.

    It is an offer: where there is not so much, the allocator goes on in its own way.
    """
    if size <= 0:
        return
    with suppress(tf.errors.ResourceExhaustedError), tf.device("/cpu:0"):
        tf.raw_ops.Empty(shape=[-(-size // _ROW), _ROW], dtype=tf.uint8, init=False)
