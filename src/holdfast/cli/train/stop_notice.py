"""Answers Ctrl-C at once, while the training still finishes what it is at."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_ASKS_TO_STOP = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_notice(tell: Callable[[str], None]) -> Iterator[None]:
    """Call a function, with the signal's name, when a signal arrives that asks to stop.

    It is called in a thread of its own: printing is not safe in a handler of signals, which may
    interrupt a print. Only the main thread of a process can listen.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    listener = threading.Thread(target=_listen, args=(reading, tell), daemon=True)
    listener.start()
    before = signal.set_wakeup_fd(writing)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(writing)
        listener.join()
        os.close(reading)


def _listen(reading: int, tell: Callable[[str], None]) -> None:
    while number := os.read(reading, 1):
        if number[0] in _ASKS_TO_STOP:
            tell(signal.Signals(number[0]).name)
