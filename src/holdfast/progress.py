"""How far long work has come: who is told, and how a piece of work asks for someone to tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Progress = Callable[[int, int], None]  # done, in all
Watch = Callable[[str, str], AbstractContextManager[Progress]]  # of what work, in which unit


def silent(done: int, total: int) -> None:
    """Tell nobody."""


@contextmanager
def unwatched(what: str, unit: str) -> Iterator[Progress]:
    """Watch a piece of work that nobody waits for."""
    yield silent


def in_megabytes(progress: Progress) -> Progress:
    """Take progress in bytes and pass it on in megabytes."""
    return lambda done, total: progress(done // 10**6, total // 10**6)
