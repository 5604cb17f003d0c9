"""Growth told from noise: a test that one jump, a plateau or an outlier cannot fool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SURE = 4.0  # standard deviations: 16 samples in random order exceed it once in 30,000 times
_JUMPS = 3  # in a series, at most
_JUMP = 4.0  # a jump is so many times the usual change


class Trend(NamedTuple):
    """How a series of samples moves between its jumps."""

    slope: float  # of the values by position: the median of the slopes between all pairs
    significance: float  # in standard deviations of a series that goes nowhere
    lasts: bool  # the second half, jumps and all, grows at least half as fast as the whole

    @property
    def is_growth(self) -> bool:
        """Whether the series surely grows, and has not come to rest."""
        return self.significance >= SURE and self.slope > 0.0 and self.lasts


def trend_of(positions: Sequence[float], values: Sequence[float]) -> Trend:
    """Judge a series; one of fewer than four samples goes nowhere."""
    if len(values) < 4:
        return Trend(0.0, 0.0, False)
    x, y = np.asarray(positions, np.float64), np.asarray(values, np.float64)
    half = len(y) // 2
    smooth = without_jumps(y)
    slope = theil_sen(x, smooth)
    late = theil_sen(x[half:], y[half:])
    return Trend(slope, mann_kendall(smooth), late >= slope / 2)


def without_jumps(y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace the few largest changes, if they are far larger than usual, by the median change.

    An evaluation or a checkpoint lifts memory to a new plateau; what the system takes back lowers
    it. Neither tells whether it grows in between.
    """
    changes = np.diff(y)
    sizes = np.abs(changes)
    largest = np.argsort(sizes)[-_JUMPS:]
    jumps = largest[sizes[largest] > _JUMP * np.median(sizes)]
    changes[jumps] = np.median(changes)
    return np.concatenate([y[:1], y[0] + np.cumsum(changes)])


def theil_sen(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Give the median of the slopes between all pairs of points, x rising (Sen 1968)."""
    first, second = np.triu_indices(len(x), k=1)
    return float(np.median((y[second] - y[first]) / (x[second] - x[first])))


def mann_kendall(y: NDArray[np.float64]) -> float:
    """Give how surely a series rises, in standard deviations; below 0 it falls (Mann 1945)."""
    count = len(y)
    first, second = np.triu_indices(count, k=1)
    score = np.sign(y[second] - y[first]).sum()  # pairs that rise, less pairs that fall
    _, ties = np.unique(y, return_counts=True)
    variance = (_pairs_weight(count) - _pairs_weight(ties).sum()) / 18.0
    if variance <= 0.0:  # all values are the same
        return 0.0
    return float((score - np.sign(score)) / np.sqrt(variance))  # less 1: it moves in steps of 2


def _pairs_weight(count: NDArray[np.int64] | int) -> NDArray[np.int64]:
    size = np.asarray(count)
    weight: NDArray[np.int64] = size * (size - 1) * (2 * size + 5)
    return weight
