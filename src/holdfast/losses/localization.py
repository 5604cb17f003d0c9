"""Localization losses of anchors: one number (B, A) for predictions and targets (B, A, D).

A target that is NaN (a keypoint nobody labeled) costs nothing.
"""

from __future__ import annotations

from keras import ops

from holdfast.geometry.overlap import giou, iou
from holdfast.geometry.tensor import Tensor


def smooth_l1(
    predictions: Tensor, targets: Tensor, weights: Tensor, *, delta: float = 1.0
) -> Tensor:
    """Huber loss: half the squared difference up to delta, linear beyond, summed over the code.

    >>> loss = smooth_l1(ops.array([[[0.5, 3.0]]]), ops.zeros((1, 1, 2)), ops.ones((1, 1)))
    >>> float(loss[0, 0])
    2.625
    """
    distance = ops.abs(_difference(predictions, targets))
    quadratic = ops.minimum(distance, delta)
    return ops.sum(quadratic * (distance - 0.5 * quadratic), axis=-1) * weights


def l2(predictions: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Half the squared weighted difference, summed over the code: the weight enters squared."""
    difference = _difference(predictions, targets) * weights[..., None]
    return 0.5 * ops.sum(ops.square(difference), axis=-1)


def l1(predictions: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Absolute difference, summed over the code."""
    return ops.sum(ops.abs(_difference(predictions, targets)), axis=-1) * weights


def iou_loss(boxes: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """1 - intersection over union of decoded boxes (B, A, 4)."""
    return (1.0 - iou(boxes, targets)) * weights


def giou_loss(boxes: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """1 - generalized intersection over union of decoded boxes (B, A, 4)."""
    return (1.0 - giou(boxes, targets)) * weights


def _difference(predictions: Tensor, targets: Tensor) -> Tensor:
    # The NaN is replaced before the subtraction: after it, the gradient would be NaN.
    return predictions - ops.where(ops.isnan(targets), predictions, targets)
