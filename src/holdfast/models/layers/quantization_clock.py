"""Whether, when and how a network is quantized: what all its quantizers share."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import keras
from keras import ops

from holdfast.geometry.tensor import Tensor

# How fast an old range follows new batches; a young one is the mean of what it saw.
SLOWEST_RATE = 0.001


class QuantizationClock(keras.layers.Layer):
    """How many steps were trained: it decides whether a network is quantized yet.

    A training step sets it. `settle` makes the answer of the present moment final.
    """

    def __init__(self, delay: int, **keywords: Any) -> None:
        super().__init__(autocast=False, **keywords)
        self.delay = delay
        self.settled: bool | None = None
        self.step = self.add_weight(
            (),
            "zeros",
            dtype="int64",
            trainable=False,
            aggregation="only_first_replica",
            name="step",
        )
        self.built = True

    def acts(self) -> Tensor:
        """Tell whether values are rounded now, bool ()."""
        if self.settled is not None:
            return ops.convert_to_tensor(self.settled)
        return ops.convert_to_tensor(self.step) >= self.delay

    def rate(self) -> Tensor:
        """Give how far ranges move towards what they see, float32 ()."""
        return ops.maximum(SLOWEST_RATE, 1.0 / (ops.cast(self.step, "float32") + 2.0))

    def settle(self, *, rounds: bool = True) -> bool:
        """Round from now on, or never: a finished network has no step.

        rounds: as it is at this step; else never. Settled, a network has its ranges as constants:
        what it computed last it computes for good.
        """
        self.settled = rounds and int(self.step.numpy()) >= self.delay
        return self.settled


@dataclass(frozen=True, kw_only=True)
class QuantizationSettings:
    """How a network is quantized."""

    clock: QuantizationClock
    weight_bits: int = 8
    activation_bits: int = 8
    is_symmetric: bool = False  # of activations; kernels always are


class _Thread(threading.local):
    """Each replica is traced in a thread of its own."""

    settings: QuantizationSettings | None = None


_thread = _Thread()


@contextmanager
def quantized_layers(settings: QuantizationSettings | None) -> Iterator[None]:
    """Let all layers that are made in the context be quantized; None: as if there were none."""
    before, _thread.settings = _thread.settings, settings
    try:
        yield
    finally:
        _thread.settings = before


def quantization() -> QuantizationSettings | None:
    """Give how the network that is being made is quantized; None where it is not."""
    return _thread.settings
