"""The largest batch that fits into a limit of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

# What people choose; a batch between two of them gains little.
_SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)

PeakOfBatch = Callable[[int], int | None]  # None: it cannot be predicted


class FittingBatch(NamedTuple):
    """A batch size, and whether it fits."""

    size: int
    fits: bool
    wanted_bytes: int  # that the wanted batch would need


def fit_batch(wanted: int, room_bytes: int, peak: PeakOfBatch) -> FittingBatch | None:
    """Find the largest batch, at most the wanted one, whose predicted peak is not above the room.

    Memory grows in proportion to the batch, so that two predictions tell where to look.

    >>> fit_batch(24, 8_000, lambda batch: 1_000 + 600 * batch)
    FittingBatch(size=8, fits=True, wanted_bytes=15400)
    >>> fit_batch(24, 1_500, lambda batch: 1_000 + 600 * batch)
    FittingBatch(size=1, fits=False, wanted_bytes=15400)
    """
    whole = peak(wanted)
    if whole is None:
        return None
    if whole <= room_bytes or wanted == 1:
        return FittingBatch(wanted, whole <= room_bytes, whole)
    half = max(1, wanted // 2)
    part = peak(half)
    if part is None:
        return None
    slope = max((whole - part) / (wanted - half), 1.0)
    estimate = half + (room_bytes - part) / slope
    for size in sorted((each for each in _SIZES if each < wanted), reverse=True):
        if size <= max(estimate, 1.0):
            needed = part if size == half else peak(size)
            if size == 1 or (needed is not None and needed <= room_bytes):
                return FittingBatch(size, needed is not None and needed <= room_bytes, whole)
    return FittingBatch(wanted, fits=False, wanted_bytes=whole)
