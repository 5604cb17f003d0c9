"""Room on the disk for what is to be written."""

from __future__ import annotations

import shutil
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.units import bytes_text


class FullDiskError(HoldfastError):
    """There is no room; what is on its way may be kept until there is."""

    def __init__(self, folder: Path, needed: int = 0) -> None:
        free = bytes_text(shutil.disk_usage(folder).free)
        more = f", and {bytes_text(needed)} are needed" if needed else ""
        super().__init__(
            f"The disk of {folder} is full: {free} are left{more}.",
            fix="Free some space, or let HOLDFAST_CACHE name a folder on another disk.",
        )


def refuse_full_disk(folder: Path, needed: int) -> None:
    """Raise if so many bytes have no room in a folder."""
    if needed > shutil.disk_usage(folder).free:
        raise FullDiskError(folder, needed)
