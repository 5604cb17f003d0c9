"""Signals that ask a training to stop: it ends its step, saves, and leaves."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Interruption:
    """Whether someone asked to stop, and how."""

    def __init__(self) -> None:
        self.signal_name: str | None = None

    def ask(self, number: int, _: object = None) -> None:
        """Note the wish; a second Ctrl-C stops at once."""
        if self.signal_name is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal_name = signal.Signals(number).name


@contextmanager
def interruptions() -> Iterator[Interruption]:
    """Listen to SIGTERM and Ctrl-C; only the main thread of a process can."""
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    before = {
        number: signal.signal(number, interruption.ask)
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
