"""The penalty on kernels: their absolute values and squares, summed without a copy of them."""

from __future__ import annotations

from dataclasses import dataclass

import keras
import tensorflow as tf
from keras import ops

from holdfast.geometry.tensor import Tensor


@dataclass(frozen=True, kw_only=True)
class Penalty(keras.regularizers.Regularizer):
    """l1 * sum(|w|) + l2 * sum(w^2) / 2, as the OD API counts it.

    Squares are summed by TensorFlow's kernel for it: Keras' own penalty keeps, besides the squares,
    a constant as large as the kernel in the gradient's graph.
    """

    l1: float = 0.0
    l2: float = 0.0

    def __call__(self, kernel: Tensor) -> Tensor:
        """Give the penalty of one kernel, float32 ()."""
        values = ops.convert_to_tensor(kernel)
        penalty = self.l2 * tf.nn.l2_loss(values)
        return penalty + self.l1 * ops.sum(ops.abs(values)) if self.l1 else penalty
