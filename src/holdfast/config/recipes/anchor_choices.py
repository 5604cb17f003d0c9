"""The anchors that a recipe may be given instead of its published ones, the likest first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from holdfast.config.schema.anchor_generator import (
    AnchorGenerator,
    GridAnchorGenerator,
    MultiscaleAnchorGenerator,
    SsdAnchorGenerator,
)

_SMALLEST_SCALES = (0.2, 0.14, 0.1, 0.07, 0.05)  # of the finest map, in sides of the image
_LARGEST_SCALES = (0.95, 0.6)
_STRIDES = (4.0, 3.0, 2.0, 1.5, 1.0, 6.0)  # side of a pyramid's smallest anchor, in strides
_WIDE, _NARROW = (1.0, 2.0, 0.5, 3.0, 0.3333), (1.0, 1.5, 0.667, 2.0, 0.5)
_SMALLEST_SIDES = (64, 48, 32, 24, 16, 96)  # of a grid's anchors, in pixels
_STEPS = (2.0, 1.6)  # from one side of a grid's anchors to the next
_PYRAMID_WIDE, _PYRAMID_NARROW = (1.0, 2.0, 0.5), (1.0, 1.4, 0.714)


def anchor_choices(published: AnchorGenerator) -> Iterator[AnchorGenerator]:
    """List the published anchors, and then others with as many at each place of nearly all maps.

    Equal numbers let the weights that correct boxes be taken from a checkpoint. Only the finest
    map of plain SSD, which has three anchors a place, may get as many as the others.
    """
    yield published
    if published.ssd_anchor_generator is not None:
        yield from _ssd_choices(published.ssd_anchor_generator)
    elif published.multiscale_anchor_generator is not None:
        yield from _pyramid_choices(published.multiscale_anchor_generator)
    elif published.grid_anchor_generator is not None:
        yield from _grid_choices(published.grid_anchor_generator)


def _ssd_choices(published: SsdAnchorGenerator) -> Iterator[AnchorGenerator]:
    for reduces, ratios, largest, smallest in product(
        (True, False), (_WIDE, _NARROW), _LARGEST_SCALES, _SMALLEST_SCALES
    ):
        yield AnchorGenerator(
            ssd_anchor_generator=published.replace(
                min_scale=smallest,
                max_scale=largest,
                aspect_ratios=ratios,
                reduce_boxes_in_lowest_layer=reduces,
            )
        )


def _pyramid_choices(published: MultiscaleAnchorGenerator) -> Iterator[AnchorGenerator]:
    for ratios, scale in product((_PYRAMID_WIDE, _PYRAMID_NARROW), _STRIDES):
        yield AnchorGenerator(
            multiscale_anchor_generator=published.replace(anchor_scale=scale, aspect_ratios=ratios)
        )


def _grid_choices(published: GridAnchorGenerator) -> Iterator[AnchorGenerator]:
    for ratios, step, side in product((_PYRAMID_WIDE, _PYRAMID_NARROW), _STEPS, _SMALLEST_SIDES):
        smallest = side / published.height
        scales = tuple(round(smallest * step**each, 4) for each in range(len(published.scales)))
        yield AnchorGenerator(
            grid_anchor_generator=published.replace(scales=scales, aspect_ratios=ratios)
        )
