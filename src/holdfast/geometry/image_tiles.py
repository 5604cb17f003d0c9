"""Cut large images into tiles: where the tiles lie, and what of the boxes lies in each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import HoldfastError

# N boxes of an image, M of them in a tile; box = (y_min, x_min, y_max, x_max)

SMALLEST_TILE = 32
LARGEST_OVERLAP = 0.8

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Tiling:
    """How images are cut: into squares that overlap their neighbors."""

    size: int  # height and width of a tile, in pixels
    overlap: float = 0.2  # of the size; at least so much of a tile is in its neighbor, too

    def __post_init__(self) -> None:
        if self.size < SMALLEST_TILE:
            raise HoldfastError(
                f"Tiles of {self.size} pixels are too small to show anything.",
                fix=f"Give a size of at least {SMALLEST_TILE}.",
            )
        if not 0.0 <= self.overlap <= LARGEST_OVERLAP:
            raise HoldfastError(
                f"Tiles cannot overlap by {self.overlap:g} of their size.",
                fix=f"Give a share from 0 to {LARGEST_OVERLAP}, such as 0.2.",
            )

    @property
    def overlap_pixels(self) -> int:
        """What neighbors share at least: a box with sides up to this is whole in some tile."""
        return math.ceil(self.size * self.overlap)


class Tile(NamedTuple):
    """A rectangle of an image, in pixels."""

    top: int
    left: int
    height: int
    width: int


class BoxesInTile(NamedTuple):
    """The boxes of an image that reach into a tile."""

    rows: NDArray[np.intp]  # (M,) which of the image's boxes
    boxes: FloatArray  # (M, 4) what of them lies in the tile, normalized to the tile
    shares: FloatArray  # (M,) how much of a box's area that is, 0 to 1

    def chosen(self, which: NDArray[np.bool_]) -> BoxesInTile:
        """Give some of them."""
        return BoxesInTile(self.rows[which], self.boxes[which], self.shares[which])


def tiles_of(height: int, width: int, tiling: Tiling) -> tuple[Tile, ...]:
    """List the tiles of an image, row by row; together they cover all of it.

    All are as large as the tiling says, spread evenly; a side of the image that is smaller is the
    tile's side, too.

    >>> tiles_of(100, 250, Tiling(size=100, overlap=0.2))
    (Tile(top=0, left=0, height=100, width=100), Tile(top=0, left=75, height=100, width=100), \
Tile(top=0, left=150, height=100, width=100))
    """
    tile_height, tile_width = min(height, tiling.size), min(width, tiling.size)
    return tuple(
        Tile(top, left, tile_height, tile_width)
        for top in _starts(height, tiling)
        for left in _starts(width, tiling)
    )


def boxes_in_tile(boxes: FloatArray, height: int, width: int, tile: Tile) -> BoxesInTile:
    """Find the boxes (N, 4), normalized to an image of this size, that reach into a tile.

    A part of a box that lies outside of the image does not count.
    """
    image = np.array([height, width, height, width], np.float64)
    pixels = np.clip(boxes.astype(np.float64), 0.0, 1.0) * image  # (N, 4)
    corner = np.array([tile.top, tile.left] * 2, np.float64)
    sides = np.array([tile.height, tile.width] * 2, np.float64)
    inside = np.clip(pixels - corner, 0.0, sides)  # (N, 4)
    area, seen = _areas(pixels), _areas(inside)  # (N,)
    rows = np.flatnonzero(seen > 0.0)
    return BoxesInTile(
        rows=rows,
        boxes=(inside[rows] / sides).astype(np.float32),
        shares=(seen[rows] / area[rows]).astype(np.float32),
    )


def _starts(side: int, tiling: Tiling) -> list[int]:
    """Give where tiles begin along a side: evenly, and at most a tile less its overlap apart."""
    room = side - tiling.size
    if room <= 0:
        return [0]
    steps = math.ceil(room / (tiling.size - tiling.overlap_pixels))
    return [step * room // steps for step in range(steps + 1)]


def _areas(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    areas: NDArray[np.float64] = (boxes[:, 2:] - boxes[:, :2]).prod(axis=-1)
    return areas
