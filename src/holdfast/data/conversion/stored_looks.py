"""What was seen of images for a split, kept in the folder of a conversion until it is done.

So a conversion that was interrupted does not look at everything again, and processes that convert
parts of one data set share the looking: each starts at another place and takes what others have.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from functools import partial

import numpy as np

from holdfast.data.part_of_work import PartOfWork
from holdfast.data.records import data_files
from holdfast.data.sources.source import Entry
from holdfast.data.splitting.looking import Glance, look_at
from holdfast.errors import HoldfastError
from holdfast.progress import Progress

FOLDER_NAME = ".looks"
_IMAGES = 1024  # in a file: what is looked at twice after a kill, or where two processes meet
_SHAPE = (8, 8)  # of an appearance


class StoredLooks:
    """Looks at images, unless this or another process has done so for the same folder."""

    def __init__(self, out: str, part: PartOfWork | None = None) -> None:
        self.folder = data_files.join(out, FOLDER_NAME)
        self.part = part or PartOfWork(1, 1)

    def look_at(self, entries: Sequence[Entry], progress: Progress) -> list[Glance]:
        """Give what is seen of each image, as `looking.look_at` does."""
        starts = list(range(0, len(entries), _IMAGES))
        first = len(starts) * (self.part.number - 1) // self.part.count
        found: dict[int, list[Glance]] = {}
        for start in starts[first:] + starts[:first]:
            done = sum(map(len, found.values()))
            chosen = entries[start : start + _IMAGES]
            found[start] = self._look(chosen, partial(_further, progress, done, len(entries)))
        progress(len(entries), len(entries))
        return [glance for start in starts for glance in found[start]]

    def remove(self) -> None:
        """Delete what was kept."""
        data_files.remove_folder(self.folder)

    def _look(self, entries: Sequence[Entry], report: Progress) -> list[Glance]:
        path = data_files.join(self.folder, f"{_digest(entries)}.npz")
        if (known := _load(path, len(entries))) is not None:
            return known
        seen = look_at(entries, report)
        data_files.write_bytes(path, _encoded(seen))
        return seen


def _further(progress: Progress, before: int, total: int, done: int, _: int) -> None:
    progress(before + done, total)


def _digest(entries: Sequence[Entry]) -> str:
    """Digest which images they are, and in which state."""
    stamps = (data_files.stamp(entry.image_path) if entry.image_path else None for entry in entries)
    states = [
        f"{entry.source_id}\n{entry.fingerprint}\n{stamp}\n"
        for entry, stamp in zip(entries, stamps, strict=True)
    ]
    return hashlib.sha256("".join(states).encode(errors="surrogateescape")).hexdigest()[:32]


def _encoded(seen: Sequence[Glance]) -> bytes:
    stream = io.BytesIO()
    blank = np.full(_SHAPE, np.nan, np.float32)
    looks = [blank if one.appearance is None else one.appearance for one in seen]
    np.savez(stream, is_image=[one.is_image for one in seen], looks=np.array(looks, np.float32))
    return stream.getvalue()


def _load(path: str, count: int) -> list[Glance] | None:
    """Read what was kept; None if there is nothing, or not what it should be."""
    if not data_files.exists(path):
        return None
    try:
        with np.load(io.BytesIO(data_files.read_bytes(path)), allow_pickle=False) as stored:
            is_image, looks = stored["is_image"], stored["looks"]
    except (HoldfastError, OSError, ValueError, KeyError):
        return None
    if is_image.shape != (count,) or looks.shape != (count, *_SHAPE):
        return None
    return [
        Glance(bool(known), None if np.isnan(look).any() else look)
        for known, look in zip(is_image, looks, strict=True)
    ]
