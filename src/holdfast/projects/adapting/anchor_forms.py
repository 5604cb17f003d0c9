"""Anchor generators as lists of positive numbers, so that shapes found by k-means fill them in.

A form has as many anchors at each place as the generator that it was made from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.config.schema.anchor_generator import (
    AnchorGenerator,
    FlexibleGridAnchorGenerator,
    GridAnchorGenerator,
    MultiscaleAnchorGenerator,
    SsdAnchorGenerator,
)
from holdfast.data.survey.pooled_boxes import BoxPool
from holdfast.geometry.shape_clusters import cluster_shapes

Numbers = tuple[float, ...]


class AnchorForm(NamedTuple):
    """Numbers that say which anchors there are, and how they are written in a config."""

    start: Numbers  # all above 0: what k-means found
    build: Callable[[Sequence[float]], AnchorGenerator]


def anchor_form(generator: AnchorGenerator, pool: BoxPool, seed: int) -> AnchorForm | None:
    """Fill the shapes of the boxes into a generator; None where it has no shapes."""
    match generator.chosen("anchor_generator_oneof"):
        case SsdAnchorGenerator() as ssd:
            return _ssd_form(ssd, pool, seed)
        case MultiscaleAnchorGenerator() as pyramid:
            return _pyramid_form(pyramid, pool, seed)
        case GridAnchorGenerator() as grid if grid.scales and grid.aspect_ratios:
            return _grid_form(grid, pool, seed)
        case FlexibleGridAnchorGenerator() as flexible if flexible.anchor_grid:
            return _flexible_form(flexible, pool, seed)
    return None


def _ssd_form(ssd: SsdAnchorGenerator, pool: BoxPool, seed: int) -> AnchorForm:
    """Vary a scale for each map, aspect ratios, and the base that moves the finest map's, too.

    Scales are shares of the input's shorter side.
    """
    layers = min(ssd.num_layers, len(ssd.scales)) if ssd.scales else ssd.num_layers
    num_ratios = len(ssd.aspect_ratios)
    shapes = pool.shapes() / pool.shorter_sides()[:, None]
    scales = _filled(_scales(shapes, pool, layers, seed), layers)

    def build(numbers: Sequence[float]) -> AnchorGenerator:
        sides, ratios, base = _parts(numbers, layers, num_ratios, 2)
        changed = ssd.without("min_scale", "max_scale").replace(
            num_layers=layers,
            scales=_rounded(sorted(min(side, 1.0) for side in sides)),
            aspect_ratios=_rounded(ratios),
            base_anchor_height=_rounded(base)[0],
            base_anchor_width=_rounded(base)[1],
        )
        return AnchorGenerator(ssd_anchor_generator=changed)

    return AnchorForm((*scales, *_ratios(pool, num_ratios, seed), 1.0, 1.0), build)


def _pyramid_form(pyramid: MultiscaleAnchorGenerator, pool: BoxPool, seed: int) -> AnchorForm:
    """Vary the one scale of all levels, in strides, and aspect ratios."""
    smallest = _scales(pool.shapes(), pool, 5, seed)[0]
    scale = min(max(smallest / 2**pyramid.min_level, 0.5), 8.0)

    def build(numbers: Sequence[float]) -> AnchorGenerator:
        changed = pyramid.replace(
            anchor_scale=_rounded(numbers[:1])[0], aspect_ratios=_rounded(numbers[1:])
        )
        return AnchorGenerator(multiscale_anchor_generator=changed)

    return AnchorForm((scale, *_ratios(pool, len(pyramid.aspect_ratios), seed)), build)


def _grid_form(grid: GridAnchorGenerator, pool: BoxPool, seed: int) -> AnchorForm:
    """Vary scales of the base size, and aspect ratios."""
    count = len(grid.scales)
    base = math.sqrt(grid.height * grid.width)
    scales = _filled([side / base for side in _scales(pool.shapes(), pool, count, seed)], count)

    def build(numbers: Sequence[float]) -> AnchorGenerator:
        changed = grid.replace(
            scales=_rounded(sorted(numbers[:count])), aspect_ratios=_rounded(numbers[count:])
        )
        return AnchorGenerator(grid_anchor_generator=changed)

    return AnchorForm((*scales, *_ratios(pool, len(grid.aspect_ratios), seed)), build)


def _flexible_form(flexible: FlexibleGridAnchorGenerator, pool: BoxPool, seed: int) -> AnchorForm:
    """Vary side and aspect ratio of each anchor of each grid: just what k-means finds."""
    counts = [len(grid.base_sizes) for grid in flexible.anchor_grid]
    centers = cluster_shapes(pool.shapes(), sum(counts), weights=pool.weights(), seed=seed)
    shapes = [centers[min(index, len(centers) - 1)] for index in range(sum(counts))]

    def build(numbers: Sequence[float]) -> AnchorGenerator:
        grids, start = [], 0
        for grid, count in zip(flexible.anchor_grid, counts, strict=True):
            own = numbers[2 * start : 2 * (start + count)]
            sizes, ratios = _rounded(own[0::2]), _rounded(own[1::2])
            grids.append(grid.replace(base_sizes=sizes, aspect_ratios=ratios))
            start += count
        return AnchorGenerator(
            flexible_grid_anchor_generator=flexible.replace(anchor_grid=tuple(grids))
        )

    numbers = [each for shape in shapes for each in (math.sqrt(shape.prod()), shape[1] / shape[0])]
    return AnchorForm(tuple(numbers), build)


def _scales(shapes: NDArray[np.float64], pool: BoxPool, count: int, seed: int) -> list[float]:
    """Cluster shapes, and give the sides of squares as large as the clusters, rising."""
    centers = cluster_shapes(shapes, count, weights=pool.weights(), seed=seed)
    return [float(math.sqrt(center.prod())) for center in centers]


def _ratios(pool: BoxPool, count: int, seed: int) -> list[float]:
    """Cluster the shapes of boxes of equal area, and give width over height of the clusters."""
    if not count:
        return []
    shapes = pool.shapes()
    shapes = shapes / np.sqrt(shapes.prod(axis=1, keepdims=True))
    centers = cluster_shapes(shapes, count, weights=pool.weights(), seed=seed)
    return _filled(sorted(float(width / height) for height, width in centers), count)


def _filled(values: Sequence[float], count: int) -> list[float]:
    """Repeat the last value, a little larger each time, where clusters are too few."""
    missing = count - len(values)
    return [*values, *(values[-1] * 1.3**step for step in range(1, missing + 1))]


def _parts(numbers: Sequence[float], *counts: int) -> list[Sequence[float]]:
    ends = np.cumsum(counts).tolist()
    return [numbers[end - count : end] for end, count in zip(ends, counts, strict=True)]


def _rounded(values: Sequence[float]) -> Numbers:
    """Write what a person would: three digits."""
    return tuple(float(f"{value:.3g}") for value in values)
