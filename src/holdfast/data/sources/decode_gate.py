"""Images are decoded by many threads, and together within a budget of memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

BUDGET_BYTES = 512 * 2**20
# RGB, and as much again: what a decoder of progressive images holds beside its result.
BYTES_PER_PIXEL = 6


class DecodeGate:
    """Lets images in while there is room for them; a larger one than the budget waits to be alone.

    Who has been let in must not ask again before leaving.
    """

    def __init__(self, budget_bytes: int = BUDGET_BYTES) -> None:
        self.budget_bytes = budget_bytes
        self._held = 0
        self._changed = threading.Condition()

    @contextmanager
    def room_for(self, num_bytes: int) -> Iterator[None]:
        """Wait until so many bytes fit, and hold them meanwhile."""
        with self._changed:
            self._changed.wait_for(
                lambda: not self._held or self._held + num_bytes <= self.budget_bytes
            )
            self._held += num_bytes
        try:
            yield
        finally:
            with self._changed:
                self._held -= num_bytes
                self._changed.notify_all()


# One for the process: statistics, conversion and the search for near-duplicates share it.
GATE = DecodeGate()
