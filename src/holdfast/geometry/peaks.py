"""Peaks of heatmaps: cells that no neighbor surpasses, the highest first."""

from __future__ import annotations

from typing import NamedTuple

from keras import ops

from holdfast.geometry.tensor import Tensor

# B images, N peaks; maps of h x w cells and C channels

_EPSILON = 1e-6  # by which a peak may be lower than its neighbor


class Peaks(NamedTuple):
    """The highest cells of each image by falling score; zeros behind the last."""

    scores: Tensor  # float32 (B, N)
    cells: Tensor  # int32 (B, N)  row by row
    channels: Tensor  # int32 (B, N)


class ChannelPeaks(NamedTuple):
    """The highest cells of each channel by falling score; zeros behind the last."""

    scores: Tensor  # float32 (B, C, N)
    cells: Tensor  # int32 (B, C, N)  row by row


def find_peaks(scores: Tensor, *, kernel_size: int, count: int) -> Peaks:
    """Find the highest peaks of maps (B, h, w, C), whatever their channel."""
    batch, height, width, channels = ops.shape(scores)
    flat = ops.reshape(only_peaks(scores, kernel_size), (batch, height * width * channels))
    best, index = _highest(flat, count)
    return Peaks(best, index // channels, index % channels)


def find_channel_peaks(scores: Tensor, *, kernel_size: int, count: int) -> ChannelPeaks:
    """Find the highest peaks of each channel of maps (B, h, w, C)."""
    batch, height, width, channels = ops.shape(scores)
    peaks = ops.transpose(only_peaks(scores, kernel_size), (0, 3, 1, 2))
    flat = ops.reshape(peaks, (batch, channels, height * width))
    return ChannelPeaks(*_highest(flat, count))


def only_peaks(scores: Tensor, kernel_size: int) -> Tensor:
    """Give the maps with 0 in all cells that a neighbor within the kernel surpasses."""
    if kernel_size <= 1:
        return scores
    highest = ops.max_pool(scores, kernel_size, strides=1, padding="same")
    return ops.where(ops.abs(scores - highest) < _EPSILON, scores, 0.0)


def _highest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Take the highest of the last axis; where there are fewer than `count`, zeros follow."""
    number = ops.shape(values)[-1]
    missing = max(count - number, 0) if isinstance(number, int) else count
    padded = ops.pad(values, [*[(0, 0)] * (len(values.shape) - 1), (0, missing)])
    best, index = ops.top_k(padded, count)
    index = ops.cast(index, "int32")
    return best, ops.where(index < number, index, 0)
