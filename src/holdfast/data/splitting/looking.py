"""Look at the images of a data set once, small and several at a time."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from holdfast.data.records import data_files
from holdfast.data.sources.image_files import read_header
from holdfast.data.sources.source import Entry
from holdfast.data.splitting.appearance import Appearance, appearance_of
from holdfast.errors import HoldfastError

_MOST_THREADS = 4  # a decoded image can take a hundred megabytes
_AT_ONCE = 64  # images between two reports; what Ctrl-C waits for


class Glance(NamedTuple):
    """What was seen of an image."""

    is_image: bool  # False: it cannot be read, and will be left out
    appearance: Appearance | None


NOTHING = Glance(False, None)


def look_at(entries: Sequence[Entry], progress: Callable[[int, int], None]) -> list[Glance]:
    """Look at every image; what cannot be read is told when it is converted, which names it."""
    seen: list[Glance] = []
    # Filters of warnings are the whole process', so that threads cannot set their own.
    with (
        warnings.catch_warnings(action="ignore"),
        ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST_THREADS)) as threads,
    ):
        for start in range(0, len(entries), _AT_ONCE):
            seen += threads.map(_look, entries[start : start + _AT_ONCE])
            progress(len(seen), len(entries))
    return seen


def _look(entry: Entry) -> Glance:
    try:
        path = entry.image_path
        encoded = data_files.read_bytes(path) if path else entry.read().sample.image
        read_header(encoded)
    except HoldfastError:
        return NOTHING
    return Glance(True, appearance_of(encoded))
