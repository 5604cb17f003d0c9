"""The seeds of the images that a network looks at: layers that draw random numbers ask here."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.geometry.chance import fresh_seeds, seeds_at
from holdfast.geometry.tensor import Tensor


class _Thread(threading.local):
    """Each replica is traced in a thread of its own, and looks at images of its own."""

    seeds: Tensor | None = None


_thread = _Thread()


@contextmanager
def looking_at(seeds: Tensor) -> Iterator[None]:
    """Let layers draw by these seeds (B, 2) as long as the context lasts."""
    before, _thread.seeds = _thread.seeds, seeds
    try:
        yield
    finally:
        _thread.seeds = before


def current_seeds(batch_size: Tensor) -> Tensor:
    """Give the seeds of the images, or fresh ones where nobody says which images these are."""
    return fresh_seeds(batch_size) if _thread.seeds is None else _thread.seeds


def layer_seeds(path: str, batch_size: Tensor) -> Tensor:
    """Give the seeds by which the layer of a path draws."""
    return seeds_at(current_seeds(batch_size), path)
