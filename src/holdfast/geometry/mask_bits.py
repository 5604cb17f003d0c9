"""Masks as bits: eight columns in a byte, the leftmost in the most significant bit.

That is an eighth of the memory of a byte a pixel, so that the masks of all objects of an image can
travel at its full size; what needs pixels unpacks the few rows that it looks at.
"""

from __future__ import annotations

from keras import ops

from holdfast.geometry.tensor import Tensor

_SPREAD = 0x8040201008040201 - 2**64  # the bits 63, 54, 45, … 0 of a signed number


def pack_masks(masks: Tensor) -> Tensor:
    """Give uint8 (..., H, ceil(W / 8)) of masks (..., H, W) that hold 0 and 1.

    Columns beyond the last are 0. Without masks the result is empty, too.

    >>> pack_masks(ops.array([[1, 0, 0, 0, 0, 0, 0, 1, 1]], "uint8")).numpy().tolist()
    [[129, 128]]
    """
    masks = ops.cast(masks, "uint8")
    width = ops.shape(masks)[-1]
    if not isinstance(width, int) or width % 8:
        margin = [[0, 0]] * (len(masks.shape) - 1)
        masks = ops.pad(masks, [*margin, [0, -width % 8]])
    shape = ops.shape(masks)
    columns = ops.reshape(masks, (*shape[:-1], shape[-1] // 8, 8))  # (..., H, W / 8, 8)
    # Eight bytes are one number. Multiplied, byte i moves to bit 7 - i of its uppermost byte; no
    # two of the 64 products meet, so nothing is carried.
    numbers = ops.view(columns, "int64")  # (..., H, W / 8, 1)
    products = ops.view(ops.multiply(numbers, ops.array(_SPREAD, "int64")), "uint8")
    return products[..., 7]  # (..., H, W / 8)


def unpack_masks(bits: Tensor, width: int | Tensor) -> Tensor:
    """Give uint8 masks (..., H, width) of bits (..., H, ceil(width / 8)).

    >>> unpack_masks(ops.array([[129, 128]], "uint8"), 9).numpy().tolist()
    [[1, 0, 0, 0, 0, 0, 0, 1, 1]]
    """
    shifts = ops.array([7, 6, 5, 4, 3, 2, 1, 0], "uint8")
    columns = ops.bitwise_and(ops.right_shift(bits[..., None], shifts), ops.cast(1, "uint8"))
    shape = ops.shape(bits)
    return ops.reshape(columns, (*shape[:-1], shape[-1] * 8))[..., :width]
