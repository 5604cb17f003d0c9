"""Classification losses of anchors: sigmoid, focal, softmax, bootstrapped.

Every loss takes logits (B, A, C), targets and weights, and gives one number for each anchor,
(B, A). Targets are columns, int32 (B, A): which column is 1, none where it is negative; or one
number for each entry, float32 (B, A, C). Weights are (B, A), or (B, A, C) to weigh columns apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras import ops

from holdfast.geometry.tensor import Tensor

# x logits, t targets, p = sigmoid(x)

ClassificationLoss = Callable[[Tensor, Tensor, Tensor], Tensor]


def sigmoid(logits: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Independent cross-entropy of each column, summed over the columns.

    >>> loss = sigmoid(ops.zeros((1, 2, 1)), ops.array([[0, -1]]), ops.ones((1, 2)))
    >>> [round(float(value), 4) for value in loss[0]]
    [0.6931, 0.6931]
    """
    return sigmoid_focal(logits, targets, weights, gamma=0.0)


def sigmoid_focal(
    logits: Tensor,
    targets: Tensor,
    weights: Tensor,
    *,
    gamma: float = 2.0,
    alpha: float | None = None,
) -> Tensor:
    """Cross-entropy that well classified entries hardly enter (Lin et al. 2017), summed over C.

    An entry's cross-entropy is multiplied by (1 - p_t) ** gamma, where p_t is the probability given
    to what is true, and by alpha where the target is 1 and 1 - alpha where it is 0; None: by 1.
    """
    if _are_columns(targets, logits) and len(weights.shape) == 2:
        return _focal_of_columns(logits, targets, gamma=gamma, alpha=alpha) * weights
    t = _dense(targets, logits)
    p = ops.sigmoid(logits)
    loss = _cross_entropy(logits, t)
    if gamma:
        loss = loss * (t * (1.0 - p) + (1.0 - t) * p) ** gamma
    if alpha is not None:
        loss = loss * (t * alpha + (1.0 - t) * (1.0 - alpha))
    return _summed(loss, weights)


def softmax(
    logits: Tensor, targets: Tensor, weights: Tensor, *, logit_scale: float = 1.0
) -> Tensor:
    """Cross-entropy of the columns as one distribution; 0 for an anchor whose target has no column.

    Logits are divided by logit_scale first.
    """
    t = _dense(targets, logits)
    log_p = ops.log_softmax(logits / logit_scale, axis=-1)
    return -ops.sum(t * log_p, axis=-1) * _of_anchor(weights)


def softmax_against_logits(
    logits: Tensor, targets: Tensor, weights: Tensor, *, logit_scale: float = 1.0
) -> Tensor:
    """Cross-entropy of the columns as one distribution against one of logits, (B, A, C)."""
    t = ops.softmax(targets / logit_scale, axis=-1)
    return softmax(logits, t, weights, logit_scale=logit_scale)


def bootstrapped_sigmoid(
    logits: Tensor, targets: Tensor, weights: Tensor, *, alpha: float, hard_bootstrap: bool = False
) -> Tensor:
    """Sigmoid loss against alpha parts target and 1 - alpha parts prediction (Reed et al. 2015).

    The prediction is the probability, or with hard_bootstrap 1 where that is above one half.
    """
    p = ops.sigmoid(logits)
    predicted = ops.cast(p > 0.5, p.dtype) if hard_bootstrap else p
    t = alpha * _dense(targets, logits) + (1.0 - alpha) * predicted
    return _summed(_cross_entropy(logits, t), weights)


def _focal_of_columns(
    logits: Tensor, columns: Tensor, *, gamma: float, alpha: float | None
) -> Tensor:
    """Focal loss against columns, keeping nothing but the logits for the gradient.

    A tensor (B, A, C) is the largest there is when many classes are trained, and automatic
    differentiation would keep nine of them. With u = -x at the true column and x elsewhere,
    1 - p_t = sigmoid(u) and the cross-entropy is softplus(u), so that
        loss    = alpha_t * sigmoid(u)**gamma * softplus(u)
        dloss/du = alpha_t * sigmoid(u)**gamma * (gamma * sigmoid(-u) * softplus(u) + sigmoid(u))
    """

    def loss(x: Tensor, columns: Tensor) -> tuple[Tensor, Callable[..., Any]]:
        def gradient(upstream: Tensor) -> tuple[Tensor, None]:
            is_true = _is_column(columns, x)
            u = ops.where(is_true, -x, x)
            slope = ops.sigmoid(u)
            if gamma:
                slope = slope**gamma * (gamma * ops.sigmoid(-u) * ops.softplus(u) + slope)
            factor = upstream[..., None] * _alpha_of(is_true, alpha, x.dtype)
            return ops.where(is_true, -slope, slope) * factor, None

        is_true = _is_column(columns, x)
        u = ops.where(is_true, -x, x)
        value = ops.softplus(u)
        if gamma:
            value = value * ops.sigmoid(u) ** gamma
        return ops.sum(value * _alpha_of(is_true, alpha, x.dtype), axis=-1), gradient

    return ops.custom_gradient(loss)(logits, columns)


def _alpha_of(is_true: Tensor, alpha: float | None, dtype: Any) -> Tensor:
    if alpha is None:
        return ops.ones((), dtype=dtype)
    return ops.where(is_true, ops.cast(alpha, dtype), ops.cast(1.0 - alpha, dtype))


def of_dense_targets(loss: Callable[..., Tensor]) -> ClassificationLoss:
    """Let a loss see one form alone: targets (B, A, C), and weights (B, A, C) or (B, A, 1)."""

    def dense(logits: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        of_entries = weights[..., None] if len(weights.shape) == 2 else weights
        return loss(logits, _dense(targets, logits), of_entries)

    return dense


def _cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """-t log p - (1 - t) log(1 - p), without overflow: softplus(x) = -log(1 - p)."""
    return ops.softplus(logits) - targets * logits


def _are_columns(targets: Tensor, logits: Tensor) -> bool:
    return len(targets.shape) < len(logits.shape)


def _is_column(columns: Tensor, logits: Tensor) -> Tensor:
    """Mark the column of each anchor, bool (B, A, C)."""
    return columns[..., None] == ops.arange(ops.shape(logits)[-1], dtype=columns.dtype)


def _dense(targets: Tensor, logits: Tensor) -> Tensor:
    if _are_columns(targets, logits):
        return ops.cast(_is_column(targets, logits), logits.dtype)
    return targets


def _summed(entries: Tensor, weights: Tensor) -> Tensor:
    """Weigh entries (B, A, C) and sum over the columns."""
    if len(weights.shape) == 2:
        return ops.sum(entries, axis=-1) * weights
    return ops.sum(entries * weights, axis=-1)


def _of_anchor(weights: Tensor) -> Tensor:
    """One weight for each anchor: the mean over its columns."""
    return weights if len(weights.shape) == 2 else ops.mean(weights, axis=-1)
