"""Batch normalization by TensorFlow's fused kernel."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from holdfast.geometry.tensor import Tensor
from holdfast.models.layers.recomputation import is_second_run


@dataclass(frozen=True, kw_only=True)
class BatchNormSettings:
    """How activations are normalized."""

    momentum: float = 0.99  # of the moving statistics; `decay` in a config
    epsilon: float = 1e-3
    center: bool = True  # has beta
    scale: bool = True  # has gamma
    is_frozen: bool = False  # normalize by the moving statistics while training, and keep them
    is_unbiased: bool = (
        True  # moving_variance follows the unbiased variance, as the kernel gives it
    )


class ChannelStatistics(NamedTuple):
    """Of each channel."""

    mean: Tensor  # float32 (C,)
    variance: Tensor  # float32 (C,)


class FusedBatchNorm(keras.layers.Layer):
    """Normalize each channel of (B, H, W, C) by batch statistics, or by moving ones.

    One kernel keeps one copy of the activation where Keras' own layer keeps several. It computes in
    float32 whatever the precision of the input, and moving_variance gets the unbiased variance.
    """

    def __init__(self, settings: BatchNormSettings, **keywords: Any) -> None:
        # ChannelStatistics stay float32 under mixed precision: the kernel wants it.
        super().__init__(autocast=False, **keywords)
        self.settings = settings
        self.observer: Observer | None = None

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        settings = self.settings

        def statistic(name: str, start: str, trainable: bool) -> keras.Variable:
            return self.add_weight(
                (input_shape[-1],),
                start,
                trainable=trainable,
                autocast=False,
                aggregation="mean",  # of the replicas' statistics
                name=name,
            )

        self.gamma = statistic("gamma", "ones", True) if settings.scale else None
        self.beta = statistic("beta", "zeros", True) if settings.center else None
        self.moving_mean = statistic("moving_mean", "zeros", False)
        self.moving_variance = statistic("moving_variance", "ones", False)

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        mean, variance = self.moving_mean.value, self.moving_variance.value
        if self.observer is not None:
            self.observer(self, inputs)
        uses_batch = training and not self.settings.is_frozen
        outputs, batch_mean, batch_variance, *_ = tf.raw_ops.FusedBatchNormV3(
            x=inputs,
            scale=tf.ones_like(mean) if self.gamma is None else self.gamma.value,
            offset=tf.zeros_like(mean) if self.beta is None else self.beta.value,
            mean=tf.zeros((0,)) if uses_batch else mean,
            variance=tf.zeros((0,)) if uses_batch else variance,
            epsilon=self.settings.epsilon,
            is_training=uses_batch,
        )
        if uses_batch and not is_second_run():
            if not self.settings.is_unbiased:
                count = tf.cast(tf.size(inputs) // tf.shape(inputs)[-1], tf.float32)
                batch_variance *= (count - 1.0) / count
            self._saw(ChannelStatistics(batch_mean, batch_variance))
        return outputs

    def _saw(self, batch: ChannelStatistics) -> None:
        if _thread.collected is not None:
            _thread.collected.append((self, batch))
            return
        for moving, seen in zip((self.moving_mean, self.moving_variance), batch, strict=True):
            moving.assign_sub((moving.value - seen) * self._rate)

    @property
    def _rate(self) -> float:
        return 1.0 - self.settings.momentum

    def followed(self, moving: ChannelStatistics, batch: ChannelStatistics) -> ChannelStatistics:
        """Give statistics as they are when they followed those of a batch."""
        pairs = zip(moving, batch, strict=True)
        return ChannelStatistics(*(old - (old - new) * self._rate for old, new in pairs))

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return input_shape


class _Thread(threading.local):
    """Each replica is traced in a thread of its own."""

    collected: list[tuple[FusedBatchNorm, ChannelStatistics]] | None = None


_thread = _Thread()


@contextmanager
def collected_statistics() -> Iterator[list[tuple[FusedBatchNorm, ChannelStatistics]]]:
    """List what batch norms see of their batches, instead of letting them follow it.

    Inside a loop, variables that several devices share cannot be changed: what was seen there has
    to be carried out of it.
    """
    before, _thread.collected = _thread.collected, []
    try:
        yield _thread.collected
    finally:
        _thread.collected = before


Observer = Callable[[FusedBatchNorm, Tensor], None]


@contextmanager
def observed(layers: Sequence[FusedBatchNorm], observer: Observer) -> Iterator[None]:
    """Let the observer see what comes into each layer, as long as the context lasts."""
    for layer in layers:
        layer.observer = observer
    try:
        yield
    finally:
        for layer in layers:
            layer.observer = None


def freeze(layer: keras.layers.Layer) -> None:
    """Make every batch norm inside a layer keep its moving statistics in training."""
    for part in batch_norms(layer):
        part.settings = replace(part.settings, is_frozen=True)


def batch_norms(layer: keras.layers.Layer) -> list[FusedBatchNorm]:
    """List every batch norm inside a layer."""
    inside = layer._flatten_layers()  # Keras has no public way to all layers inside
    return [part for part in inside if isinstance(part, FusedBatchNorm)]


def trains_batch_norm(model: Any) -> bool:
    """Tell whether any batch norm computes statistics of the batch in training."""
    return any(not each.settings.is_frozen for each in batch_norms(model))
