"""Batch-norm statistics that come with a checkpoint, compared with the images to be trained on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.geometry.tensor import Tensor
from holdfast.models.detectors.interface import Detector
from holdfast.models.layers.batch_norm import FusedBatchNorm, observed

# C channels of a layer; statistics are float64 (C,)

# A layer does not fit if half of its channels are off by more than this. Weights of COCO differ by
# less on blood cells and photographs alike; weights that were folded and unfolded by far more.
_LARGEST_SHIFT = 1.5  # of the mean, in standard deviations
_LARGEST_RATIO = 4.0  # of the standard deviations, either way


@dataclass(frozen=True, kw_only=True)
class Moments:
    """Mean and variance of each channel of what comes into a layer."""

    mean: NDArray[np.float64]  # (C,)
    variance: NDArray[np.float64]  # (C,)


@dataclass(frozen=True, kw_only=True)
class Refit:
    """What was done about the statistics of a checkpoint."""

    layers: int  # that were compared
    misfits: tuple[str, ...]  # paths of those whose statistics did not fit
    images: int  # that were looked at

    def __str__(self) -> str:
        return (
            f"batch-norm statistics of {len(self.misfits)} of {self.layers} layers did not fit the "
            f"training images: all were re-estimated on {self.images} images, with scales and "
            "offsets changed along so that the network computes the same"
        )


def refit_batch_norms(
    detector: Detector, layers: Sequence[FusedBatchNorm], inputs: Iterable[Tensor]
) -> Refit | None:
    """Give the layers the statistics of the inputs, if those they have are far from them.

    A training that normalizes by the batch replaces the statistics at its first step, on which the
    weights behind them count. So scale and offset change along: from moving statistics the network
    computes what it did before.

    Args:
        detector: The network; what it computes stays the same.
        layers: Those of its batch norms that a checkpoint filled.
        inputs: What the network takes, in batches.

    Returns:
        What was done; None if all statistics fit and nothing was changed.

    """
    if not layers:
        return None
    books, images = _Books(), 0
    with observed(layers, books.enter):
        for each in inputs:
            images += int(each.shape[0])
            detector(each, training=False)
    moments = [books.moments(layer) for layer in layers]
    pairs = list(zip(layers, moments, strict=True))
    misfits = tuple(layer.path for layer, each in pairs if not fits(layer, each))
    if not misfits:
        return None
    for layer, each in pairs:  # what made some of them odd made all of them so
        refit(layer, each)
    return Refit(layers=len(layers), misfits=misfits, images=images)


def fits(layer: FusedBatchNorm, moments: Moments) -> bool:
    """Tell whether the moving statistics of a layer are about those of its inputs."""
    shift, ratio = misfit(layer, moments)
    return shift <= _LARGEST_SHIFT and ratio <= _LARGEST_RATIO


def misfit(layer: FusedBatchNorm, moments: Moments) -> tuple[float, float]:
    """Give the median channel's shift of the mean, in deviations, and ratio of the deviations."""
    epsilon = layer.settings.epsilon
    variance = _values(layer.moving_variance) + epsilon
    shift = np.abs(moments.mean - _values(layer.moving_mean)) / np.sqrt(variance)
    ratio = np.abs(np.log((moments.variance + epsilon) / variance)) / 2
    return float(np.median(shift)), math.exp(float(np.median(ratio)))


def refit(layer: FusedBatchNorm, moments: Moments) -> None:
    """Set the moving statistics; gamma and beta change so that the layer computes the same.

    gamma (x - mean) / sqrt(variance + e) + beta stays the same function of x. A layer without
    gamma or beta cannot make up for the change and is left as it is.
    """
    if layer.gamma is None or layer.beta is None:
        return
    epsilon = layer.settings.epsilon
    gamma, beta = _values(layer.gamma), _values(layer.beta)
    before = np.sqrt(_values(layer.moving_variance) + epsilon)
    after = np.sqrt(moments.variance + epsilon)
    layer.beta.assign(beta + gamma * (moments.mean - _values(layer.moving_mean)) / before)
    layer.gamma.assign(gamma * after / before)
    layer.moving_mean.assign(moments.mean)
    layer.moving_variance.assign(moments.variance)


def _values(variable: Any) -> NDArray[np.float64]:
    return np.asarray(variable.value, np.float64)


class _Books:
    """Sums of what comes into each layer; a layer that is used twice has both in its sums."""

    def __init__(self) -> None:
        self._sums: dict[int, NDArray[np.float64]] = {}  # count, sum and sum of squares

    def enter(self, layer: FusedBatchNorm, inputs: Tensor) -> None:
        pixels = np.asarray(inputs, np.float64).reshape(-1, inputs.shape[-1])  # (B * H * W, C)
        count = np.full(pixels.shape[1], len(pixels), np.float64)
        sums = np.stack([count, pixels.sum(axis=0), np.square(pixels).sum(axis=0)])  # (3, C)
        self._sums[id(layer)] = self._sums.get(id(layer), 0) + sums

    def moments(self, layer: FusedBatchNorm) -> Moments:
        count, total, squares = self._sums[id(layer)]
        mean = total / count
        return Moments(mean=mean, variance=np.maximum(squares / count - mean**2, 0.0))
