"""The seeds of the images that a network looks at: layers that draw random numbers ask here."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from holdfast.geometry.chance import fresh_seeds, seeds_at
from holdfast.geometry.tensor import Tensor


class RegionChunk(NamedTuple):
    """Some of an equal number of regions that each image has."""

    start: int
    end: int
    regions: int  # of an image, in all chunks


class _Thread(threading.local):
    """Each replica is traced in a thread of its own, and looks at images of its own."""

    seeds: Tensor | None = None
    chunk: RegionChunk | None = None


_thread = _Thread()


@contextmanager
def looking_at(seeds: Tensor, chunk: RegionChunk | None = None) -> Iterator[None]:
    """Let layers draw by these seeds (B, 2) as long as the context lasts.

    chunk: which regions of the images they see, where they do not see all of them at once.
    """
    before = _thread.seeds, _thread.chunk
    _thread.seeds, _thread.chunk = seeds, chunk
    try:
        yield
    finally:
        _thread.seeds, _thread.chunk = before


def current_chunk() -> RegionChunk | None:
    """Give the regions that layers see now; None where they see all, or images."""
    return _thread.chunk


def current_seeds(batch_size: Tensor) -> Tensor:
    """Give the seeds of the images, or fresh ones where nobody says which images these are."""
    return fresh_seeds(batch_size) if _thread.seeds is None else _thread.seeds


def layer_seeds(path: str, batch_size: Tensor) -> Tensor:
    """Give the seeds by which the layer of a path draws."""
    return seeds_at(current_seeds(batch_size), path)
