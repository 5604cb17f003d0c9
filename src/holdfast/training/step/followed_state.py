"""What follows the batches of a step beside the weights: ranges of quantizers, batch statistics."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from holdfast.geometry.tensor import Tensor
from holdfast.models.detectors.interface import Detector
from holdfast.models.layers.batch_norm import ChannelStatistics, FusedBatchNorm, batch_norms
from holdfast.models.layers.fake_quantization import SeenRange, fake_quantizers, joined_ranges


class FollowedRanges:
    """The ranges of a network's quantizers, which follow once a step, by all that was seen.

    Reaches are what is known of each quantizer's values so far, float32 (2,) each.
    """

    def __init__(self, detector: Detector) -> None:
        self._quantizers = fake_quantizers(detector)

    def unseen(self) -> list[Tensor]:
        """Give the reaches before there are any values."""
        return [tf.zeros((2,)) for _ in self._quantizers]

    def joined(self, reaches: Sequence[Tensor], seen: Sequence[SeenRange]) -> list[Tensor]:
        """Let what a piece of the batch showed count, too."""
        return joined_ranges(self._quantizers, reaches, seen)

    def follow(self, reaches: Sequence[Tensor]) -> None:
        """Move the ranges towards the farthest reaches of all replicas."""
        if not reaches:
            return
        context = tf.distribute.get_replica_context()
        everywhere = context.all_gather(tf.stack(reaches)[None], axis=0)  # (replicas, Q, 2)
        farthest = tf.ensure_shape(tf.reduce_max(everywhere, axis=0), (len(reaches), 2))
        for quantizer, reach in zip(self._quantizers, tf.unstack(farthest), strict=True):
            quantizer.follow(reach)


class FollowedStatistics:
    """The moving statistics of a network's batch norms, which follow piece after piece.

    A loop over pieces cannot write variables by the way: the statistics travel along with it.
    """

    def __init__(self, detector: Detector) -> None:
        self._norms = [each for each in batch_norms(detector) if not each.settings.is_frozen]

    def present(self) -> list[ChannelStatistics]:
        """Give the statistics before the first piece."""
        return [
            ChannelStatistics(
                norm.moving_mean.value.read_value(), norm.moving_variance.value.read_value()
            )
            for norm in self._norms
        ]

    def followed(
        self,
        statistics: Sequence[ChannelStatistics],
        seen: Sequence[tuple[FusedBatchNorm, ChannelStatistics]],
    ) -> list[ChannelStatistics]:
        """Move the statistics towards what their batch norms saw, one after the other."""
        moved = {id(norm): each for norm, each in zip(self._norms, statistics, strict=True)}
        for norm, batch in seen:
            moved[id(norm)] = norm.followed(moved[id(norm)], batch)
        return list(moved.values())

    def keep(self, statistics: Sequence[ChannelStatistics]) -> None:
        """Write the statistics after the last piece."""
        for norm, (mean, variance) in zip(self._norms, statistics, strict=True):
            norm.moving_mean.assign(mean)
            norm.moving_variance.assign(variance)
