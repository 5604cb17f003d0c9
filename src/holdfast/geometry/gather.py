"""Pick rows of each image of a batch by index."""

from __future__ import annotations

from keras import ops

from holdfast.geometry.tensor import Tensor


def rows_at(rows: Tensor, index: Tensor) -> Tensor:
    """Give rows[b, index[b, n]] for rows (B, R, ...) and index (B, N): (B, N, ...).

    >>> rows_at(ops.array([[10, 11], [20, 21]]), ops.array([[1, 1, 0], [0, 0, 0]])).numpy().tolist()
    [[11, 11, 10], [20, 20, 20]]
    """
    shape = ops.shape(rows)
    batch, count = shape[0], shape[1]
    flat = ops.reshape(rows, (batch * count, *shape[2:]))
    first = ops.arange(batch, dtype="int32")[:, None] * count
    return ops.take(flat, ops.cast(index, "int32") + first, axis=0)
