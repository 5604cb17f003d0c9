"""Fake quantization: values rounded as integers of few bits will be, while all is still float.

Ranges of activations are observed from the first step on; from step `delay` on, kernels and
activations are rounded to what their bits can say. Gradients pass straight through the rounding,
and are zero where a value was clipped (arXiv:1712.05877, section 3).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from holdfast.geometry.tensor import Tensor
from holdfast.models.layers.quantization_clock import QuantizationSettings, quantization
from holdfast.models.layers.recomputation import is_second_run


class FakeQuantizer(keras.layers.Layer):
    """Round values to a range that is observed in training, around 0.

    Until something was observed, values pass as they are.
    """

    def __init__(self, settings: QuantizationSettings, **keywords: Any) -> None:
        super().__init__(autocast=False, **keywords)
        self.settings = settings

    def build(self, input_shape: Any) -> None:
        def bound(name: str) -> keras.Variable:
            return self.add_weight(
                (), "zeros", trainable=False, autocast=False, aggregation="mean", name=name
            )

        self.min = bound("min")
        self.max = bound("max")

    def call(self, values: Tensor, training: bool = False) -> Tensor:
        if training and _thread.seen is not None and not is_second_run():
            _thread.seen.append(SeenRange(self, _reach(values)))
        clock, bits = self.settings.clock, self.settings.activation_bits
        if clock.settled is None:
            low, high = self.bounds(self.min.value, self.max.value)
            return _rounded(values, low, high, clock.acts() & (high > low), bits)
        low, high = self.bounds(*map(float, _now(self.min, self.max)))
        return _rounded_to(values, low, high, bits) if clock.settled and high > low else values

    def bounds(self, low: Any, high: Any) -> tuple[Any, Any]:
        """Give the range that is rounded to, of the one that was observed."""
        if not self.settings.is_symmetric:
            return low, high
        most = max(-low, high) if isinstance(low, float) else tf.maximum(-low, high)
        return -most, most

    def follow(self, reach: Tensor) -> None:
        """Move towards the reach (2,) of a batch; at the very first one, go there at once.

        Where nothing but 0 was seen, as in blocks that did not run, there is nothing to follow.
        """
        known = tf.stack([-self.min.value, self.max.value])
        rate = tf.where(tf.reduce_any(known > 0.0), self.settings.clock.rate(), 1.0)
        rate = tf.where(tf.reduce_any(reach > 0.0), rate, 0.0)
        moved = known + (reach - known) * rate
        self.min.assign(-moved[0])
        self.max.assign(moved[1])

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return input_shape


class SeenRange(NamedTuple):
    """What a quantizer saw."""

    quantizer: FakeQuantizer
    reach: Tensor  # float32 (2,)  how far below 0 values are, and how far above


class _Thread(threading.local):
    """Each replica is traced in a thread of its own."""

    seen: list[SeenRange] | None = None


_thread = _Thread()


@contextmanager
def observed_ranges() -> Iterator[list[SeenRange]]:
    """List what quantizers see in training, as long as the context lasts; else nobody looks.

    They do not follow by themselves: in one step, all that is computed, also again or piece by
    piece, has to be rounded by the same ranges.
    """
    before, _thread.seen = _thread.seen, []
    try:
        yield _thread.seen
    finally:
        _thread.seen = before


def joined_ranges(
    quantizers: Sequence[FakeQuantizer], reaches: Sequence[Tensor], seen: Sequence[SeenRange]
) -> list[Tensor]:
    """Widen the reach (2,) of each quantizer by what was seen of it."""
    joined = {id(each): reach for each, reach in zip(quantizers, reaches, strict=True)}
    for quantizer, reach in seen:
        joined[id(quantizer)] = tf.maximum(joined[id(quantizer)], reach)
    return list(joined.values())


def fake_quantizers(layer: keras.layers.Layer) -> list[FakeQuantizer]:
    """List every quantizer inside a layer."""
    inside = layer._flatten_layers()  # Keras has no public way to all layers inside
    return list({id(part): part for part in inside if isinstance(part, FakeQuantizer)}.values())


def fake_quantizer(name: str) -> FakeQuantizer | None:
    """Make what quantizes values of the network that is being made; None where it is not."""
    settings = quantization()
    return None if settings is None else FakeQuantizer(settings, name=name)


def quantized(quantizer: FakeQuantizer | None, values: Tensor, *, training: bool) -> Tensor:
    """Pass values through a quantizer, if there is one."""
    return values if quantizer is None else quantizer(values, training=training)


def rounded_together(values: Tensor, quantizers: Sequence[FakeQuantizer | None]) -> Tensor:
    """Round what was joined of rounded values by the widest of their ranges.

    Runtimes have one range for all that is joined, and would choose any of them.
    """
    present = [each for each in quantizers if each is not None]
    if not present:
        return values
    settings = present[0].settings
    clock, bits = settings.clock, settings.activation_bits
    if clock.settled is None:
        ends = [each.bounds(each.min.value, each.max.value) for each in present]
        low, high = (tf.stack(each) for each in zip(*ends, strict=True))
        low, high = tf.reduce_min(low), tf.reduce_max(high)
        return _rounded(values, low, high, clock.acts() & (high > low), bits)
    ends = [each.bounds(*map(float, _now(each.min, each.max))) for each in present]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    return _rounded_to(values, low, high, bits) if clock.settled and high > low else values


def known_range(values: Tensor, low: float, high: float, settings: QuantizationSettings) -> Tensor:
    """Round values whose range needs no observation."""
    clock, bits = settings.clock, settings.activation_bits
    if clock.settled is None:
        return _rounded(values, tf.constant(low), tf.constant(high), clock.acts(), bits)
    return _rounded_to(values, low, high, bits) if clock.settled else values


def quantized_kernel(
    kernel: keras.Variable, settings: QuantizationSettings, shape: Sequence[int] | None = None
) -> Tensor:
    """Round a kernel (..., C): each channel by its own largest value, 0 in the middle.

    shape: one that has the channels last, where the kernel's own does not.
    """
    own = tuple(kernel.shape)
    stored = kernel.value  # as the layer computes: half of it under mixed precision
    values = tf.cast(tf.reshape(stored, shape or own), tf.float32)
    clock = settings.clock
    if clock.settled is None:
        most = tf.maximum(tf.reduce_max(tf.abs(values), axis=_all_but_last(values)), _SMALLEST)
        rounded = tf.where(
            clock.acts(), _by_channel(values, tf.stop_gradient(most), settings), values
        )
    elif clock.settled:
        now = np.abs(_now(kernel)[0].reshape(shape or own))  # converters want constants
        most = np.maximum(now.max(axis=_all_but_last(now)), _SMALLEST).astype(np.float32)
        rounded = _by_channel(values, tf.constant(most), settings)
    else:
        rounded = values
    return tf.cast(tf.reshape(rounded, own), stored.dtype)


_SMALLEST = 1e-6  # a channel of zeros has no range


def _all_but_last(values: Tensor) -> tuple[int, ...]:
    return tuple(range(len(values.shape) - 1))


def _by_channel(values: Tensor, most: Tensor, settings: QuantizationSettings) -> Tensor:
    return tf.quantization.fake_quant_with_min_max_vars_per_channel(
        values, -most, most, num_bits=settings.weight_bits, narrow_range=True
    )


def _rounded(values: Tensor, low: Tensor, high: Tensor, acts: Tensor, bits: int) -> Tensor:
    """Round where it acts; for the gradient nothing is kept but the values."""

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def run(inputs: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        rounded = tf.quantization.fake_quant_with_min_max_vars(inputs, low, high, num_bits=bits)

        def gradient(upstream: Tensor) -> Tensor:
            inside, *_ = tf.quantization.fake_quant_with_min_max_vars_gradient(
                upstream, inputs, low, high, num_bits=bits
            )
            return tf.where(acts, inside, upstream)

        return tf.where(acts, rounded, inputs), gradient

    return tf.cast(run(tf.cast(values, tf.float32)), values.dtype)


def _rounded_to(values: Tensor, low: float, high: float, bits: int) -> Tensor:
    """Round always: the form in which converters read it."""
    rounded = tf.quantization.fake_quant_with_min_max_args(
        tf.cast(values, tf.float32), min=low, max=high, num_bits=bits
    )
    return tf.cast(rounded, values.dtype)


def _reach(values: Tensor) -> Tensor:
    values = tf.cast(tf.stop_gradient(values), tf.float32)
    return tf.maximum(tf.stack([-tf.reduce_min(values), tf.reduce_max(values)]), 0.0)


def _now(*variables: keras.Variable) -> list[np.ndarray]:
    """Read variables, also while a function is traced."""
    with tf.init_scope():
        return [variable.value.numpy() for variable in variables]
