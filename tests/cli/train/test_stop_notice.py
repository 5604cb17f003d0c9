from __future__ import annotations

import os
import signal
import threading

from holdfast.cli.train.stop_notice import stop_notice


def test_a_signal_is_told_at_once_by_its_name():
    told: list[str] = []
    heard = threading.Event()

    def tell(name: str) -> None:
        told.append(name)
        heard.set()

    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with stop_notice(tell):
            os.kill(os.getpid(), signal.SIGTERM)
            assert heard.wait(10)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert told == ["SIGTERM"]


def test_other_signals_and_other_threads_are_let_be():
    told: list[str] = []
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        with stop_notice(told.append):
            os.kill(os.getpid(), signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert signal.set_wakeup_fd(-1) == -1  # nothing is left behind

    def elsewhere() -> None:
        with stop_notice(told.append):
            pass

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert told == []
