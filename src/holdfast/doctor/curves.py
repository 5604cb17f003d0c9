"""Arithmetic of noisy curves: levels, noise, changes and trends that a few odd values cannot move.

Losses are compared by their logarithms: a batch of one or two images scatters them by a factor, not
by an amount. N values of one curve, in the order of the steps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.memory.watch.trend import mann_kendall

Values = NDArray[np.float64]
_DEVIATION = 1.4826  # of a normal distribution, over its median distance from the middle
_MEDIAN_ERROR = 1.2533  # of a median of normal values, over the error of their mean
_SURELY = 2.0  # standard errors
_LARGEST = 700.0  # logarithm that a float can hold
_LEAST = 1e-12  # a term may be exactly 0, which has no logarithm


class LevelChange(NamedTuple):
    """How the level of a curve differs between two places."""

    logarithm: float  # natural, of later level / earlier level
    error: float  # standard error of that

    @property
    def ratio(self) -> float:
        """The later level over the earlier one."""
        return math.exp(min(self.logarithm, _LARGEST))

    @property
    def least(self) -> float:
        """The ratio that it surely is above: two standard errors below."""
        return math.exp(min(self.logarithm - _SURELY * self.error, _LARGEST))

    @property
    def most(self) -> float:
        """The ratio that it surely is below."""
        return math.exp(min(self.logarithm + _SURELY * self.error, _LARGEST))


def noise(values: Values) -> float:
    """Give the standard deviation of values around a curve that moves slowly; 0 of fewer than 3.

    Neighbors differ by noise, not by the curve; a median of their distances forgets spikes.

    >>> noise(np.array([1.0, 1.0, 1.0, 1.0]))
    0.0
    """
    if len(values) < 3:
        return 0.0
    distances = np.abs(np.diff(values))
    return float(_DEVIATION * np.median(distances) / np.sqrt(2.0))


def change(earlier: Values, later: Values) -> LevelChange:
    """Compare the levels of two parts of a curve of positive values.

    >>> round(change(np.full(9, 2.0), np.full(9, 1.0)).ratio, 3)
    0.5
    """
    first, second = _logarithms(earlier), _logarithms(later)
    # The noise of the noisier part, for both: that of a few values is not known well.
    deviation = max(noise(first), noise(second))
    parts = 1.0 / max(len(first), 1) + 1.0 / max(len(second), 1)
    error = _MEDIAN_ERROR * deviation * math.sqrt(parts)
    return LevelChange(float(np.median(second) - np.median(first)), error)


def block_medians(values: Values, blocks: int) -> Values:
    """Give the medians of a number of equal parts, in order; of fewer values, the values.

    >>> block_medians(np.array([1.0, 1.0, 9.0, 2.0, 2.0, 2.0]), 2)
    array([1., 2.])
    """
    if len(values) <= blocks:
        return values.astype(np.float64)
    return np.array([np.median(part) for part in np.array_split(values, blocks)])


def smoothed(values: Values, width: int) -> Values:
    """Give the running median over `width` values around each; the ends see fewer."""
    half = max(width // 2, 0)
    parts = (values[max(at - half, 0) : at + half + 1] for at in range(len(values)))
    return np.array([np.median(part) for part in parts])


def trend(values: Values, blocks: int = 16) -> float:
    """Say how surely a curve of positive values rises, in standard deviations; below 0 it falls.

    Medians of blocks are compared pair by pair, so that a spike counts as one value and a change of
    the noise as none.
    """
    medians = block_medians(values, blocks)
    return mann_kendall(medians) if len(medians) >= 4 else 0.0


def first_level(values: Values) -> Values:
    """Give the values that say where a curve began: few, for the first steps learn most."""
    return values[: max(5, min(20, len(values) // 50))]


def last_level(values: Values, share: float = 0.1) -> Values:
    """Give the values that say where a curve is now."""
    return values[-max(10, int(len(values) * share)) :]


def _logarithms(values: Values) -> Values:
    logarithms: Values = np.log(np.maximum(values, _LEAST))
    return logarithms
