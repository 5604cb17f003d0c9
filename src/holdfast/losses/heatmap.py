"""The loss of heatmaps: a focal loss that is mild near the peaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras import ops

from holdfast.geometry.tensor import Tensor

# B images, A cells, C channels; x logits, t targets 0..1, p = sigmoid(x)

_SMALLEST = 1e-4  # p stays between this and 1 - this


def penalty_reduced_focal(
    logits: Tensor, targets: Tensor, weights: Tensor, *, alpha: float = 2.0, beta: float = 4.0
) -> Tensor:
    """Focal loss of each cell (B, A), summed over the channels (arXiv:1904.07850, equation 1).

    Where the target (B, A, C) is 1 it is -(1 - p)**alpha log(p), elsewhere
    -(1 - t)**beta p**alpha log(1 - p). Weights are (B, A), or (B, A, C) to weigh channels apart.
    Nothing but what comes in is kept for the gradient.

    >>> targets = ops.array([[[1.0, 0.0]]])
    >>> loss = penalty_reduced_focal(ops.zeros((1, 1, 2)), targets, ops.ones((1, 1)))
    >>> round(float(loss[0, 0]), 4)
    0.3466
    """
    if len(weights.shape) == 2:
        weights = weights[..., None]

    def loss(x: Tensor, t: Tensor, weights: Tensor) -> tuple[Tensor, Callable[..., Any]]:
        def gradient(upstream: Tensor) -> tuple[Tensor, None, None]:
            p = ops.sigmoid(x)
            is_clipped = ops.logical_or(p < _SMALLEST, p > 1.0 - _SMALLEST)
            at_peak = alpha * p * (1.0 - p) ** alpha * ops.log(p) - (1.0 - p) ** (alpha + 1.0)
            elsewhere = p ** (alpha + 1.0) - alpha * p**alpha * (1.0 - p) * ops.log(1.0 - p)
            slope = ops.where(t == 1.0, at_peak, (1.0 - t) ** beta * elsewhere)
            return upstream[..., None] * ops.where(is_clipped, 0.0, slope) * weights, None, None

        p = ops.clip(ops.sigmoid(x), _SMALLEST, 1.0 - _SMALLEST)
        at_peak = (1.0 - p) ** alpha * ops.log(p)
        elsewhere = (1.0 - t) ** beta * p**alpha * ops.log(1.0 - p)
        entries = ops.where(t == 1.0, at_peak, elsewhere)
        return -ops.sum(entries * weights, axis=-1), gradient

    return ops.custom_gradient(loss)(logits, targets, weights)
