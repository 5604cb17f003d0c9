"""Feature maps made larger by repeating cells."""

from __future__ import annotations

from keras import ops

from holdfast.geometry.tensor import Tensor


def upsample_to(inputs: Tensor, target: Tensor, factor: int) -> Tensor:
    """Repeat each cell of (B, h, w, C) factor x factor times, and cut to the size of the target.

    A map of odd size shrinks to one that is half a cell too large: at the bottom and at the right
    it loses the copies that lie outside.
    """
    repeated = ops.repeat(ops.repeat(inputs, factor, axis=1), factor, axis=2)
    if repeated.shape[1:3] == target.shape[1:3] and None not in target.shape[1:3]:
        return repeated
    _, height, width, _ = ops.shape(target)
    return repeated[:, :height, :width, :]
