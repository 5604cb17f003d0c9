"""Optimizers beyond the OD API's: Lion, and RMSProp whose weights decay apart from the gradient.

Weights decay where they are kernels: biases and the variables of batch norm keep their size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import tensorflow as tf

from holdfast.geometry.tensor import Tensor
from holdfast.training.step.optimizers import RMSProp, Slots, decay_weights


@dataclass(frozen=True, kw_only=True)
class Lion:
    """Lion (arXiv 2302.06675): every number moves by the learning rate, up or down.

    variable -= learning_rate * weight_decay * variable
    variable -= learning_rate * sign(beta_1 * mean + (1 - beta_1) * gradient)
    mean = beta_2 * mean + (1 - beta_2) * gradient
    """

    beta_1: float = 0.9
    beta_2: float = 0.99
    weight_decay: float = 0.0
    slots: ClassVar[Mapping[str, float]] = {"mean": 0.0}

    def move(
        self,
        variable: tf.Variable,
        slots: Slots,
        gradient: Tensor,
        learning_rate: Tensor,
        updates: Tensor,
    ) -> None:
        """Change the variable and the mean of its gradient."""
        decay_weights(variable, learning_rate, self.weight_decay)
        mean = slots["mean"]
        direction = tf.sign(self.beta_1 * mean + (1.0 - self.beta_1) * gradient)
        # The mean is read before it follows.
        with tf.control_dependencies([variable.assign_sub(learning_rate * direction)]):
            mean.assign(self.beta_2 * mean + (1.0 - self.beta_2) * gradient)


@dataclass(frozen=True, kw_only=True)
class DecoupledRMSProp(RMSProp):
    """RMSProp, with weights that decay as AdamW's do.

    variable -= learning_rate * weight_decay * variable, then as RMSProp
    """

    weight_decay: float = 0.0

    def move(
        self,
        variable: tf.Variable,
        slots: Slots,
        gradient: Tensor,
        learning_rate: Tensor,
        updates: Tensor,
    ) -> None:
        """Change the variable, its mean square and its velocity."""
        decay_weights(variable, learning_rate, self.weight_decay)
        super().move(variable, slots, gradient, learning_rate, updates)
