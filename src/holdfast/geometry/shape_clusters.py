"""Cluster heights and widths of boxes by how much they overlap: k-means on 1 - IoU."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# N boxes, K clusters; boxes are compared as if they had one center

FloatArray = NDArray[np.float64]
_ROUNDS = 60
_GUESSES = 4  # first centers to begin with: from a single one, two may end in one cluster


def cluster_shapes(
    shapes: FloatArray, count: int, *, weights: FloatArray | None = None, seed: int = 0
) -> FloatArray:
    """Find heights and widths (K, 2), by rising area, that boxes (N, 2) overlap most.

    Args:
        shapes: Heights and widths, above 0.
        count: How many clusters. Fewer come back where fewer shapes differ.
        weights: What each box counts (N,). None: all alike.
        seed: Of the first guesses, which the result depends on a little.

    Returns:
        The centers.

    >>> shapes = np.array([[10.0, 10.0], [11.0, 9.0], [40.0, 80.0], [42.0, 78.0]])
    >>> cluster_shapes(shapes, 2).round(1).tolist()
    [[10.5, 9.5], [41.0, 79.0]]
    """
    weights = np.ones(len(shapes)) if weights is None else weights
    random = np.random.default_rng(seed)
    guesses = (_first_centers(shapes, weights, count, random) for _ in range(_GUESSES))
    found = [_settled(shapes, weights, guess) for guess in guesses]
    best = max(found, key=lambda each: float(weights @ shape_ious(shapes, each).max(axis=1)))
    return best[np.argsort(best.prod(axis=1))]


def _settled(shapes: FloatArray, weights: FloatArray, centers: FloatArray) -> FloatArray:
    """Move each center to the mean of the boxes that are nearest to it, until none changes."""
    nearest = np.full(len(shapes), -1)
    for _ in range(_ROUNDS):
        before, nearest = nearest, shape_ious(shapes, centers).argmax(axis=1)
        if (before == nearest).all():
            break
        centers = np.array(
            [
                np.average(shapes[nearest == index], axis=0, weights=weights[nearest == index])
                if (nearest == index).any()
                else center
                for index, center in enumerate(centers)
            ]
        )
    return centers


def shape_ious(shapes: FloatArray, centers: FloatArray) -> FloatArray:
    """Compare boxes (N, 2) with centers (K, 2): IoU (N, K)."""
    shared = np.minimum(shapes[:, None], centers[None]).prod(axis=-1)  # (N, K)
    union = shapes.prod(axis=-1)[:, None] + centers.prod(axis=-1)[None] - shared
    ious: FloatArray = shared / union
    return ious


def _first_centers(
    shapes: FloatArray, weights: FloatArray, count: int, random: np.random.Generator
) -> FloatArray:
    """Choose boxes that are far from each other (k-means++, Arthur and Vassilvitskii 2007)."""
    centers: FloatArray = shapes[[random.choice(len(shapes), p=weights / weights.sum())]]
    while len(centers) < count:
        distance = weights * (1.0 - shape_ious(shapes, centers).max(axis=1))
        if distance.sum() <= 1e-9:
            break
        chosen = random.choice(len(shapes), p=distance / distance.sum())
        centers = np.concatenate([centers, shapes[[chosen]]])
    return centers
