"""Masks cut to boxes: what the third stage of a detector has to learn.

Only the pixels that a crop looks at are read, four for each of its cells, out of masks as bits or
as bytes. Nothing of a whole mask's size is made, however many boxes there are.
"""

from __future__ import annotations

from typing import NamedTuple

from keras import ops

from holdfast.geometry.boxes import corners
from holdfast.geometry.tensor import Tensor

# B images, G masks an image, P boxes an image, (h, w) cells of a crop


def crop_masks(
    masks: Tensor,
    index: Tensor,
    boxes: Tensor,
    *,
    size: tuple[int, int],
    width: Tensor,
    are_bits: bool,
) -> Tensor:
    """Cut mask index (B, P) of each image to normalized boxes (B, P, 4): float32 (B, P, h, w).

    masks are uint8 (B, G, H, width), or where are_bits (B, G, H, ceil(width / 8)). The values are
    interpolated as those of `crop_regions`; beyond the image they are 0.
    """
    shape = ops.shape(masks)
    y_min, x_min, y_max, x_max = corners(boxes)
    rows = _line(y_min, y_max, size[0], shape[2])
    columns = _line(x_min, x_max, size[1], width)
    image = ops.arange(shape[0], dtype="int32")[:, None]  # (B, 1)
    mask = (image * shape[1] + index)[..., None, None]  # (B, P, 1, 1)

    def pixels(row: Tensor, column: Tensor) -> Tensor:
        """Read at row (B, P, h) and column (B, P, w): float32 (B, P, h, w)."""
        row, column = row[..., :, None], column[..., None, :]
        byte = column // 8 if are_bits else column
        line = ops.cast(mask * shape[2] + row, "int64")
        place = line * ops.cast(shape[3], "int64") + ops.cast(byte, "int64")
        value = ops.cast(ops.take(ops.reshape(masks, (-1,)), place), "int32")
        if are_bits:
            value = ops.bitwise_and(ops.right_shift(value, 7 - column % 8), 1)
        return ops.cast(value, "float32")

    y, x = rows.fraction[..., :, None], columns.fraction[..., None, :]
    top = pixels(rows.before, columns.before) * (1.0 - x) + pixels(rows.before, columns.after) * x
    low = pixels(rows.after, columns.before) * (1.0 - x) + pixels(rows.after, columns.after) * x
    is_inside = ops.logical_and(rows.is_inside[..., :, None], columns.is_inside[..., None, :])
    return ops.where(is_inside, top * (1.0 - y) + low * y, 0.0)


class _Line(NamedTuple):
    """Where the cells of a crop lie along one side of the mask, each (B, P, cells)."""

    before: Tensor  # int32  the pixel before
    after: Tensor  # int32  the pixel after
    fraction: Tensor  # float32  how far from the one to the other
    is_inside: Tensor  # bool


def _line(start: Tensor, end: Tensor, cells: int, side: Tensor) -> _Line:
    last = ops.cast(side - 1, "float32")
    start, end = start[..., None], end[..., None]
    if cells > 1:
        step = (end - start) * last / (cells - 1)
        place = start * last + ops.arange(cells, dtype="float32") * step
    else:
        place = 0.5 * (start + end) * last
    is_inside = ops.logical_and(place >= 0.0, place <= last)
    place = ops.clip(place, 0.0, last)
    before = ops.floor(place)
    return _Line(
        before=ops.cast(before, "int32"),
        after=ops.cast(ops.ceil(place), "int32"),
        fraction=place - before,
        is_inside=is_inside,
    )
