"""Where the highest value of a row is."""

from __future__ import annotations

import tensorflow as tf

from holdfast.geometry.tensor import Tensor


def highest_index(values: Tensor, axis: int = -1) -> Tensor:
    """Give the index, int32, of the first highest value along an axis.

    Keras' own argmax sorts -0.0 below 0.0 by the bits of the number, which ONNX has no operator
    for: a detector with it could not be exported.

    >>> highest_index([[1.0, 3.0, 3.0], [5.0, 2.0, 4.0]]).numpy().tolist()
    [1, 0]
    """
    return tf.argmax(values, axis=axis, output_type="int32")
