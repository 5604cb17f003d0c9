"""Convolution, normalization and activation in slow NumPy: the oracle of the networks."""

from __future__ import annotations

from collections.abc import Mapping

import keras
import numpy as np

EPSILON = 1e-3


def weights_of(part: keras.layers.Layer, seed: int = 0) -> dict[str, np.ndarray]:
    """Give a part random weights; return them by path below the part."""
    random = np.random.default_rng(seed)
    weights = {}
    for variable in part.variables:
        value = random.normal(size=variable.shape) * 0.3
        if variable.path.endswith(("gamma", "variance", "combine_weights")):
            value = 1 + np.abs(value)
        variable.assign(value)
        weights[variable.path.split("/", 1)[1]] = np.float64(variable.numpy())
    return weights


def layer(
    inputs: np.ndarray,
    weights: Mapping[str, np.ndarray],
    name: str,
    strides: int = 1,
    is_explicit: bool = False,
    is_active: bool = True,
) -> np.ndarray:
    """Apply the layer of that name: convolution, bias, batch norm, relu6, as far as it has any."""
    if f"{name}/depthwise/convolution/kernel" in weights:
        inputs = _convolve(
            inputs, weights[f"{name}/depthwise/convolution/kernel"], strides, is_explicit, True
        )
        name, strides = f"{name}/pointwise", 1
    kernel = weights[f"{name}/convolution/kernel"]
    outputs = _convolve(inputs, kernel, strides, is_explicit, name.endswith("_depthwise"))
    outputs = outputs + weights.get(f"{name}/convolution/bias", 0.0)
    if f"{name}/batch_norm/beta" in weights:
        outputs = normalize(outputs, weights, f"{name}/batch_norm")
    return np.clip(outputs, 0, 6) if is_active else outputs


def normalize(inputs: np.ndarray, weights: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    mean, variance, gamma, beta = (
        weights[f"{name}/{part}"] for part in ("moving_mean", "moving_variance", "gamma", "beta")
    )
    return (inputs - mean) / np.sqrt(variance + EPSILON) * gamma + beta


def _convolve(
    inputs: np.ndarray, kernel: np.ndarray, strides: int, is_explicit: bool, is_depthwise: bool
) -> np.ndarray:
    size = kernel.shape[0]
    _, height, width, _ = inputs.shape
    padded = np.pad(
        inputs,
        [
            (0, 0),
            _margins(height, size, strides, is_explicit),
            _margins(width, size, strides, is_explicit),
            (0, 0),
        ],
    )
    rows, columns = -(-height // strides), -(-width // strides)
    total = 0.0
    for y in range(size):
        for x in range(size):
            shifted = padded[:, y::strides, x::strides][:, :rows, :columns]
            total = total + (
                shifted * kernel[y, x, :, 0] if is_depthwise else shifted @ kernel[y, x]
            )
    return total


def _margins(length: int, size: int, strides: int, is_explicit: bool) -> tuple[int, int]:
    if is_explicit:
        return (size - 1) // 2, size // 2
    # TensorFlow's "same": as little as gives ceil(length / strides), the odd one behind.
    total = max((-(-length // strides) - 1) * strides + size - length, 0)
    return total // 2, total - total // 2
