"""Magnitude pruning: while a detector trains, ever more of its smallest weights become 0 and stay.

The schedule is that of Zhu and Gupta (arXiv 1710.01878, equation 1), by kernel: fast at first, when
there is much that is not needed, and slow at the end. A weight that is 0 is pruned: the mask is the
kernel itself, so that a checkpoint holds it and a resumed run prunes the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from holdfast.errors import HoldfastError
from holdfast.geometry.tensor import Tensor
from holdfast.models.detectors.interface import Detector

PRUNED = "pruned"  # among the facts of a run: what of the last checkpoint is 0
PRUNED_SHARE = "pruned_share"  # among the measures of a step: of the weights of pruned kernels
IMAGE_CHANNELS = 3
# What mixes channels. Depthwise kernels are not of these: 9 weights a channel, hardly any in all.
_MIXING = (keras.layers.Conv2D, keras.layers.Dense, keras.layers.Conv2DTranspose)
# The last layers of heads: classes, or every quantity of a CenterNet.
_LAST_LAYERS = frozenset({"classes", "last"})


@dataclass(frozen=True, kw_only=True)
class PruningSchedule:
    """How large a share of each kernel is 0 after the step of a number, from 0."""

    share: float  # in the end
    begin: int  # the first step that prunes
    end: int  # the first step with the final share
    every: int = 1  # steps from one pruning to the next

    def share_at(self, step: Tensor) -> Tensor:
        """Give the share that a step prunes to: share * (1 - (1 - progress)^3).

        >>> schedule = PruningSchedule(share=0.8, begin=10, end=20)
        >>> [round(float(schedule.share_at(tf.constant(step))), 3) for step in (10, 15, 20, 99)]
        [0.0, 0.7, 0.8, 0.8]
        """
        span = float(max(1, self.end - self.begin))
        progress = tf.clip_by_value(tf.cast(step - self.begin, tf.float32) / span, 0.0, 1.0)
        return self.share * (1.0 - (1.0 - progress) ** 3)

    def is_due(self, step: Tensor) -> Tensor:
        """Tell whether a step prunes; after the end, too, to make up for one that was held."""
        since = step - self.begin
        is_due = tf.logical_or(since % self.every == 0, tf.equal(step, self.end))
        return tf.logical_and(since >= 0, is_due)


def prunable_kernels(
    detector: Detector, trained: Sequence[keras.Variable]
) -> tuple[keras.Variable, ...]:
    """List what is pruned: kernels of convolutions and dense layers, in the order of the trained.

    Not depthwise kernels, not the first convolution, which has few weights and sees all there is to
    see, and not the last layer of the classes: the weights of a rare class are small.
    """
    chosen = {id(kernel) for kernel in _kernels(detector)}
    kernels = tuple(variable for variable in trained if id(variable) in chosen)
    if not kernels:
        raise HoldfastError(
            "There is nothing to prune: no kernel of a convolution is trained.",
            fix="Freeze less (train_config.freeze_variables), or leave --prune out.",
        )
    return kernels


def _kernels(detector: Any) -> Iterator[keras.Variable]:
    for layer in detector._flatten_layers():
        if not isinstance(layer, _MIXING):
            continue
        kernel = layer.kernel
        sees_image = len(kernel.shape) == 4 and kernel.shape[2] == IMAGE_CHANNELS
        if not sees_image and not _LAST_LAYERS & set(kernel.path.split("/")):
            yield kernel


class Pruning:
    """Keeps pruned weights at 0, and prunes more by a schedule.

    averages: the moving averages of kernels, by their paths, which are pruned along. Make it in the
    scope of the strategy that the variables were made in.
    """

    def __init__(
        self,
        kernels: Sequence[keras.Variable],
        schedule: PruningSchedule,
        averages: Mapping[str, tf.Variable],
    ) -> None:
        self.schedule = schedule
        self.paths = tuple(kernel.path for kernel in kernels)
        self.weights = sum(int(tf.size(kernel.value)) for kernel in kernels)
        self._targets = tuple(kernel.value for kernel in kernels)
        self._averages = averages
        self._strategy = tf.distribute.get_strategy()

    def look(self, step: Tensor) -> list[Tensor]:
        """Say which weights of each kernel stay, by their values before the update of a step.

        Call it before the optimizer: momentum moves a pruned weight, and then it looks like others.
        """
        kernels = self._own()
        smallest = tf.cond(
            self.schedule.is_due(step),
            lambda: [_smallest_kept(each, self.schedule.share_at(step)) for each in kernels],
            lambda: [tf.zeros(()) for _ in kernels],
        )
        # A weight that happens to be 0 may learn until pruning begins.
        is_early = step < self.schedule.begin
        return [
            tf.logical_or(is_early, _stays(kernel, least))
            for kernel, least in zip(kernels, smallest, strict=True)
        ]

    def follow(self, seen: list[Tensor], updates: Tensor) -> None:
        """Set to 0 what does not stay, in the kernels and in their moving averages."""
        with self._strategy.scope():
            for path, target, mask in zip(self.paths, self._targets, seen, strict=True):
                for each in (target, self._averages.get(path)):
                    if each is not None:
                        self._strategy.extended.update(each, _keep, args=(mask,), group=False)

    def measures(self) -> dict[str, Tensor]:
        """Give the share of all weights of the kernels that is 0 now."""
        zeros = [tf.reduce_sum(tf.cast(each == 0.0, tf.float32)) for each in self._own()]
        return {PRUNED_SHARE: tf.add_n(zeros) / float(self.weights)}

    def facts(self) -> dict[str, Any]:
        """Give what is pruned now, for the manifest."""
        share = float(self.measures()[PRUNED_SHARE])
        return {PRUNED: {"kernels": len(self.paths), "weights": self.weights, "share": share}}

    def _own(self) -> list[Tensor]:
        """Read the kernels, which all replicas hold alike."""
        return [
            self._strategy.experimental_local_results(each)[0].read_value()
            for each in self._targets
        ]


def _smallest_kept(kernel: Tensor, share: Tensor) -> Tensor:
    """Give the magnitude of the smallest weight that is not in the share that is pruned."""
    magnitudes = tf.sort(tf.abs(tf.reshape(kernel, [-1])))
    count = tf.cast(tf.round(share * float(magnitudes.shape[0])), tf.int32)
    return magnitudes[tf.minimum(count, magnitudes.shape[0] - 1)]


def _stays(kernel: Tensor, smallest: Tensor) -> Tensor:
    # Weights of equal magnitude stay together: a kernel that is constant is not emptied.
    return tf.logical_and(tf.abs(kernel) >= smallest, tf.not_equal(kernel, 0.0))


def _keep(variable: tf.Variable, mask: Tensor) -> None:
    variable.assign(tf.where(mask, variable, tf.zeros_like(variable)))
