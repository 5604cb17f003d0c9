"""The optimizers of the OD API in NumPy, one formula a line, in float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STEPS = 20
# Warm-up, fall and a jump: an optimizer that stores gradients instead of moves would differ.
RATES = np.concatenate([np.linspace(0.02, 0.2, 8), np.linspace(0.2, 0.05, 8), np.full(4, 0.4)])


def gradients(shape: tuple[int, ...], seed: int = 0) -> Array:
    """Give (STEPS, *shape) gradients of very unequal sizes."""
    draws = np.random.default_rng(seed)
    sizes = 10.0 ** draws.uniform(-3, 1, size=(STEPS, *(1 for _ in shape)))
    return np.asarray(draws.normal(size=(STEPS, *shape)) * sizes, np.float32).astype(np.float64)


def momentum(start: Array, steps: Array, momentum: float) -> Array:
    variable, velocity = start.copy(), np.zeros_like(start)
    for rate, gradient in zip(RATES, steps, strict=False):
        velocity = momentum * velocity - rate * gradient
        variable += velocity
    return variable


def rms_prop(start: Array, steps: Array, decay: float, momentum: float, epsilon: float) -> Array:
    variable, mean_square, velocity = start.copy(), np.ones_like(start), np.zeros_like(start)
    for rate, gradient in zip(RATES, steps, strict=False):
        mean_square = decay * mean_square + (1 - decay) * gradient**2
        velocity = momentum * velocity + rate * gradient / np.sqrt(mean_square + epsilon)
        variable -= velocity
    return variable


def adam(start: Array, steps: Array, epsilon: float, weight_decay: float = 0.0) -> Array:
    variable, mean, mean_square = start.copy(), np.zeros_like(start), np.zeros_like(start)
    for count, (rate, gradient) in enumerate(zip(RATES, steps, strict=False), start=1):
        mean = 0.9 * mean + 0.1 * gradient
        mean_square = 0.999 * mean_square + 0.001 * gradient**2
        variable -= rate * weight_decay * variable
        alpha = rate * np.sqrt(1 - 0.999**count) / (1 - 0.9**count)
        variable -= alpha * mean / (np.sqrt(mean_square) + epsilon)
    return variable


def averages(weights: Array, start: Array, decay: float) -> Array:
    """Follow weights (N, …), which are those after each update."""
    average = start.copy()
    for count, weight in enumerate(weights, start=1):
        present = min(decay, (1 + count) / (10 + count))
        average = present * average + (1 - present) * weight
    return average
