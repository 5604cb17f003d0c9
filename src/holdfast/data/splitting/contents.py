"""What images hold, as numbers that two sides of a split can be compared by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_STEPS = 8  # of the distributions of objects per image and of sizes
_MOST_CLASSES = 100  # compared by number; of the rarer ones both sides get some


class Contents(NamedTuple):
    """What an image holds."""

    class_counts: Mapping[int, int]  # class -> objects
    box_areas: Sequence[float] = ()  # of its boxes, as shares of the image; () if not known


def features_of(contents: Sequence[Contents]) -> list[NDArray[np.float64]]:
    """Give families of features (N, F): summed over images, they are alike on two like sides.

    The families: objects and images of each class; objects in all; images up to some numbers of
    objects; boxes up to some sizes.
    """
    objects = np.array([sum(one.class_counts.values()) for one in contents], np.float64)
    common = _common_classes(contents)
    counts = np.zeros((len(contents), len(common)))
    for row, one in zip(counts, contents, strict=True):
        for number, amount in one.class_counts.items():
            if number in common:
                row[common[number]] = amount
    return [
        counts,
        (counts > 0).astype(np.float64),
        objects[:, None],
        _up_to(objects),
        _by_size(contents),
    ]


def _common_classes(contents: Sequence[Contents]) -> dict[int, int]:
    """Give the classes that are on the most images a place each."""
    images = Counter(number for one in contents for number in one.class_counts)
    common = sorted(images, key=lambda number: (-images[number], number))[:_MOST_CLASSES]
    return {number: place for place, number in enumerate(common)}


def _by_size(contents: Sequence[Contents]) -> NDArray[np.float64]:
    """Say for some sizes how many of an image's boxes are not larger, beyond what is usual."""
    image = np.repeat(np.arange(len(contents)), [len(one.box_areas) for one in contents])
    areas = np.array([area for one in contents for area in one.box_areas], np.float64)
    known = np.isfinite(areas)
    below = _up_to(areas[known])  # (B, E)
    features = np.zeros((len(contents), below.shape[1]))
    np.add.at(features, image[known], below - below.mean(axis=0) if len(below) else below)
    return features


def _up_to(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Say for some of the values, evenly spread, which are not larger (N, E).

    The sums of these over two sides are their cumulative distributions.
    """
    if not len(values):
        return np.zeros((0, 0))
    edges = np.unique(np.quantile(values, np.arange(1, _STEPS) / _STEPS))
    return (values[:, None] <= edges).astype(np.float64)
