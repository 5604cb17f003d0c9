"""Whether two sets of numbers, or of class counts, come from the same source: stated tests."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_DRAWS = 500  # of a permutation test
_TERMS = 100  # of Kolmogorov's series, which converges long before


class SampleComparison(NamedTuple):
    """How far apart two samples are, and how likely chance alone would part them so far."""

    distance: float  # 0 the same, 1 nothing in common
    probability: float


def compare_numbers(first: NDArray[np.floating], second: NDArray[np.floating]) -> SampleComparison:
    """Compare numbers by the two-sample Kolmogorov-Smirnov test, with its asymptotic probability.

    The distance is the largest difference of the shares below any value.

    >>> compare_numbers(np.arange(100.0), np.arange(100.0) + 50).distance
    0.5
    """
    places = np.concatenate([first, second])
    below_first = np.searchsorted(np.sort(first), places, side="right") / len(first)
    below_second = np.searchsorted(np.sort(second), places, side="right") / len(second)
    distance = float(np.abs(below_first - below_second).max())
    effective = np.sqrt(len(first) * len(second) / (len(first) + len(second)))
    # Stephens' correction for few numbers.
    scaled = (effective + 0.12 + 0.11 / effective) * distance
    return SampleComparison(distance, _kolmogorov(float(scaled)))


def compare_counts(first: NDArray[np.int64], second: NDArray[np.int64]) -> SampleComparison:
    """Compare counts of classes, a row for each image: (N, C) and (M, C).

    The distance is half the sum of the differences between the classes' shares. Objects of an image
    belong together, so that images and not objects are permuted to see what chance does.
    """
    distance = _variation(first.sum(axis=0), second.sum(axis=0))
    rows = np.concatenate([first, second])
    total = rows.sum(axis=0)
    random = np.random.default_rng(0)
    farther = 0
    for _ in range(_DRAWS):
        drawn = rows[random.permutation(len(rows))[: len(first)]].sum(axis=0)
        farther += _variation(drawn, total - drawn) >= distance
    return SampleComparison(distance, (farther + 1) / (_DRAWS + 1))


def _variation(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    one, other = (each / max(each.sum(), 1) for each in (first, second))
    return float(np.abs(one - other).sum() / 2)


def _kolmogorov(scaled: float) -> float:
    if scaled < 0.2:  # the series does not converge there, and the answer is 1
        return 1.0
    number = np.arange(1, _TERMS + 1)
    terms = (-1.0) ** (number - 1) * np.exp(-2.0 * number**2 * scaled**2)
    return float(np.clip(2.0 * terms.sum(), 0.0, 1.0))
