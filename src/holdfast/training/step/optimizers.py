"""Optimizers: how gradients move the weights, by TensorFlow's own kernels.

The arithmetic is that of the OD API: `momentum` and `adam` as in TF2, `rms_prop` as in TF1 (in TF2
its decay reached the learning rate instead, or nothing at all).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import keras
import tensorflow as tf

from holdfast.geometry.tensor import Tensor

Slots = Mapping[str, tf.Variable]  # what a rule remembers of one variable


class Rule(Protocol):
    """How a gradient moves a variable."""

    slots: ClassVar[Mapping[str, float]]  # remembered of each variable: name -> first value

    def move(
        self,
        variable: tf.Variable,
        slots: Slots,
        gradient: Tensor,
        learning_rate: Tensor,
        updates: Tensor,
    ) -> None:
        """Change the variable and its slots; updates counts this one, from 1."""


class StepOptimizer:
    """A rule with what it remembers of some variables.

    Make it in the scope of the strategy that the variables were made in.
    """

    def __init__(self, variables: Sequence[keras.Variable], rule: Rule) -> None:
        self.rule = rule
        self._strategy = tf.distribute.get_strategy()
        self._targets = tuple(variable.value for variable in variables)
        self._paths = tuple(variable.path for variable in variables)
        self._slots = {
            name: tuple(_like(target, first) for target in self._targets)
            for name, first in rule.slots.items()
        }
        self.updates = tf.Variable(
            0,
            trainable=False,
            dtype=tf.int64,
            aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
        )

    @property
    def variables(self) -> dict[str, tf.Variable]:
        """What a checkpoint must hold; `velocity/` and the path of the model's variable."""
        slots = {
            f"{name}/{path}": slot
            for name, group in self._slots.items()
            for path, slot in zip(self._paths, group, strict=True)
        }
        return {"updates": self.updates} | slots

    def apply(self, gradients: Sequence[Tensor | None], learning_rate: Tensor) -> None:
        """Move every variable once.

        gradients: in the order of the variables, summed over the replicas already, as they are
        returned by `strategy.run` (all replicas hold the same); where one is None, the variable
        stays. Not for the inside of `strategy.run`: there the replicas cannot agree on an update.
        """
        with self._strategy.scope():
            self.updates.assign_add(1)
            updates = self.updates.read_value()
            # Counted before anything moves: while the count is the same, so are the weights.
            with tf.control_dependencies([updates]):
                for index, gradient in enumerate(gradients):
                    if gradient is not None:
                        self._move(index, gradient, learning_rate, updates)

    def _move(self, index: int, gradient: Any, learning_rate: Tensor, updates: Tensor) -> None:
        slots = {name: group[index] for name, group in self._slots.items()}
        self._strategy.extended.update(
            self._targets[index],
            self.rule.move,
            args=(slots, gradient, learning_rate, updates),
            group=False,
        )


@dataclass(frozen=True, kw_only=True)
class Momentum:
    """Gradient descent with momentum, in which each gradient keeps the rate it came with.

    velocity = momentum * velocity - learning_rate * gradient;  variable += velocity
    """

    momentum: float = 0.9
    slots: ClassVar[Mapping[str, float]] = {"velocity": 0.0}

    def move(
        self,
        variable: tf.Variable,
        slots: Slots,
        gradient: Tensor,
        learning_rate: Tensor,
        updates: Tensor,
    ) -> None:
        """Change the variable and its velocity."""
        tf.raw_ops.ResourceApplyKerasMomentum(
            var=variable.handle,
            accum=slots["velocity"].handle,
            lr=learning_rate,
            grad=gradient,
            momentum=self.momentum,
        )


@dataclass(frozen=True, kw_only=True)
class RMSProp:
    """Gradient descent in units of the gradient's recent size, with momentum.

    mean_square = decay * mean_square + (1 - decay) * gradient²
    velocity = momentum * velocity + learning_rate * gradient / sqrt(mean_square + epsilon)
    variable -= velocity
    """

    decay: float = 0.9
    momentum: float = 0.9
    epsilon: float = 1.0
    # TF1 starts the mean at 1, so that the first steps are short.
    slots: ClassVar[Mapping[str, float]] = {"mean_square": 1.0, "velocity": 0.0}

    def move(
        self,
        variable: tf.Variable,
        slots: Slots,
        gradient: Tensor,
        learning_rate: Tensor,
        updates: Tensor,
    ) -> None:
        """Change the variable, its mean square and its velocity."""
        tf.raw_ops.ResourceApplyRMSProp(
            var=variable.handle,
            ms=slots["mean_square"].handle,
            mom=slots["velocity"].handle,
            lr=learning_rate,
            rho=self.decay,
            momentum=self.momentum,
            epsilon=self.epsilon,
            grad=gradient,
        )


@dataclass(frozen=True, kw_only=True)
class Adam:
    """Adam (arXiv 1412.6980); with weight_decay, AdamW (arXiv 1711.05101).

    mean += (1 - beta_1) * (gradient - mean);  mean_square likewise of gradient², with beta_2
    variable -= learning_rate * weight_decay * variable
    variable -= learning_rate * sqrt(1 - beta_2^updates) / (1 - beta_1^updates)
                * mean / (sqrt(mean_square) + epsilon)
    Weights decay where they are kernels: biases and the variables of batch norm keep their size.
    """

    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    slots: ClassVar[Mapping[str, float]] = {"mean": 0.0, "mean_square": 0.0}

    def move(
        self,
        variable: tf.Variable,
        slots: Slots,
        gradient: Tensor,
        learning_rate: Tensor,
        updates: Tensor,
    ) -> None:
        """Change the variable and the means of its gradient."""
        decay_weights(variable, learning_rate, self.weight_decay)
        count = tf.cast(updates, variable.dtype)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=slots["mean"].handle,
            v=slots["mean_square"].handle,
            beta1_power=tf.pow(tf.constant(self.beta_1, variable.dtype), count),
            beta2_power=tf.pow(tf.constant(self.beta_2, variable.dtype), count),
            lr=learning_rate,
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
            grad=gradient,
        )


def decay_weights(variable: tf.Variable, learning_rate: Tensor, weight_decay: float) -> None:
    """Make a kernel smaller by a share of itself, apart from its gradient (arXiv 1711.05101)."""
    if weight_decay and len(variable.shape) > 1:
        variable.assign_sub(learning_rate * weight_decay * variable)


def _like(variable: tf.Variable, value: float) -> tf.Variable:
    return tf.Variable(tf.fill(variable.shape, tf.cast(value, variable.dtype)), trainable=False)
