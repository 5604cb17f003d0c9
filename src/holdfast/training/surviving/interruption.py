"""Signals that ask a training to stop: it ends its step, saves, and leaves."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_ONE_WISH_SECONDS = 0.5


class Interruption:
    """Whether someone asked to stop, and how."""

    def __init__(self) -> None:
        self.signal_name: str | None = None
        self._asked_at = -math.inf

    def ask(self, number: int, _: object = None) -> None:
        """Note the wish; a second Ctrl-C stops at once.

        Who signals a whole group of processes reaches this one twice: directly, and through its
        supervisor. That is one wish.
        """
        is_new = time.monotonic() - self._asked_at > _ONE_WISH_SECONDS
        if self.signal_name is not None and number == signal.SIGINT and is_new:
            raise KeyboardInterrupt
        if is_new:
            self._asked_at = time.monotonic()
        self.signal_name = signal.Signals(number).name


@contextmanager
def own_signals() -> Iterator[None]:
    """Keep the handler of SIGTERM: TensorFlow takes it where several machines train together.

    One that comes in here is heard afterwards.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


@contextmanager
def ended_by_alarm(seconds: int) -> Iterator[None]:
    """Let the system end this process (SIGALRM) if what is done in here takes longer."""
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


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
