"""Cells of a map: in which one a point lies, which ones are around it, what a map has there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from keras import ops

from holdfast.geometry.gather import rows_at
from holdfast.geometry.tensor import Tensor

# B images, N points (y, x) in cells, R cells around each; maps of h x w cells


class NearCells(NamedTuple):
    """The cells around points."""

    cells: Tensor  # int32 (B, N, R)  row by row, 0 where outside
    corners: Tensor  # float32 (B, N, R, 2)  y, x of the cells; 0 where outside
    is_inside: Tensor  # bool (B, N, R)


def near_cells(points: Tensor, shape: tuple[Tensor, Tensor], radius: int = 0) -> NearCells:
    """List the cells within a radius around the one of each point (B, N, 2).

    >>> around = near_cells(ops.array([[[1.5, 0.2]]]), (4, 4), radius=1)
    >>> around.cells.numpy().tolist(), around.is_inside.numpy().tolist()
    ([[[0, 0, 4, 5, 8]]], [[[True, False, True, True, True]]])
    """
    height, width = shape
    corners = ops.floor(points)[:, :, None, :] + _steps(radius)  # (B, N, R, 2)
    limits = ops.stack([ops.cast(height, "float32"), ops.cast(width, "float32")])
    is_inside = ops.all(ops.logical_and(corners >= 0.0, corners < limits), axis=-1)
    corners = ops.where(is_inside[..., None], corners, 0.0)
    whole = ops.cast(corners, "int32")
    return NearCells(whole[..., 0] * width + whole[..., 1], corners, is_inside)


def cell_values(values: Tensor, cells: Tensor) -> Tensor:
    """Give what maps (B, h, w, C) have at cells (B, N), row by row: (B, N, C)."""
    batch, height, width, channels = ops.shape(values)
    return rows_at(ops.reshape(values, (batch, height * width, channels)), cells)


def _steps(radius: int) -> np.ndarray:
    reach = range(-radius, radius + 1)
    steps = [(y, x) for y in reach for x in reach if y * y + x * x <= radius * radius]
    return np.array(steps, np.float32)
