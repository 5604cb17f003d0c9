"""What happens to gradients between the loss and the optimizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import keras
import tensorflow as tf

from holdfast.geometry.tensor import Tensor
from holdfast.models.layers.observation import layer_group

Gradients = Sequence[Tensor | None]  # one a variable; None where the loss does not depend on it


@dataclass(frozen=True, kw_only=True)
class GradientRules:
    """What a config asks for; the gradients it applies to are those of the whole batch."""

    clip_norm: float | None = None  # of all together; None: not clipped
    group_norm: float | None = None  # of each layer group, before that; None: not clipped
    bias_multiplier: float = 1.0

    def apply(self, gradients: Gradients, variables: Sequence[keras.Variable]) -> Clipped:
        """Multiply those of biases, then clip; without a rule, only measure."""
        multiplied = multiply_bias_gradients(gradients, variables, self.bias_multiplier)
        if self.group_norm is None:
            return clip_by_global_norm(multiplied, self.clip_norm)
        grouped = clip_by_group_norm(multiplied, variables, self.group_norm)
        clipped = clip_by_global_norm(grouped, self.clip_norm)
        return clipped._replace(global_norm=tf.linalg.global_norm(multiplied))


class Clipped(NamedTuple):
    """Gradients of a limited size, and the size they had."""

    gradients: list[Tensor | None]
    global_norm: Tensor  # float32 ()  before clipping; not finite if any gradient is not


def clip_by_global_norm(gradients: Gradients, limit: float | None) -> Clipped:
    """Shorten all gradients by one factor where their common length is above the limit.

    limit: None shortens nothing. As in the OD API, the norm is that of all gradients together.
    """
    norm = tf.linalg.global_norm(gradients)
    if limit is None:
        return Clipped(list(gradients), norm)
    clipped, _ = tf.clip_by_global_norm(gradients, limit, use_norm=norm)
    return Clipped(clipped, norm)


def clip_by_group_norm(
    gradients: Gradients, variables: Sequence[keras.Variable], limit: float
) -> list[Tensor | None]:
    """Shorten the gradients of each layer group by one factor where they are too long together.

    One part that explodes does not make the others' steps small.
    """
    clipped = list(gradients)
    groups: dict[str, list[int]] = {}
    for index, variable in enumerate(variables):
        groups.setdefault(layer_group(variable.path), []).append(index)
    for indexes in groups.values():
        shortened = clip_by_global_norm([gradients[index] for index in indexes], limit).gradients
        for index, gradient in zip(indexes, shortened, strict=True):
            clipped[index] = gradient
    return clipped


def multiply_bias_gradients(
    gradients: Gradients, variables: Sequence[keras.Variable], multiplier: float
) -> list[Tensor | None]:
    """Let biases learn faster or slower; the offsets of batch norm are no biases."""
    if multiplier == 1.0:
        return list(gradients)
    return [
        gradient * multiplier if gradient is not None and variable.name == "bias" else gradient
        for gradient, variable in zip(gradients, variables, strict=True)
    ]
