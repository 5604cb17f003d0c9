from __future__ import annotations

import os
import signal

import pytest

from holdfast.training.surviving import interruption
from holdfast.training.surviving.interruption import Interruption, interruptions, own_signals


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the test moves: a list whose last element is the time."""
    times = [100.0]
    monkeypatch.setattr(interruption.time, "monotonic", lambda: times[-1])
    return times


def test_a_signal_is_noted_and_the_handler_from_before_is_put_back():
    before = signal.getsignal(signal.SIGTERM)
    with interruptions() as asked:
        assert asked.signal_name is None
        os.kill(os.getpid(), signal.SIGTERM)
        assert asked.signal_name == "SIGTERM"
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_second_ctrl_c_stops_at_once(clock):
    asked = Interruption()
    asked.ask(signal.SIGINT)
    clock.append(101.0)
    with pytest.raises(KeyboardInterrupt):
        asked.ask(signal.SIGINT)


def test_one_ctrl_c_that_comes_by_two_ways_is_one(clock):
    asked = Interruption()
    asked.ask(signal.SIGINT)
    clock.append(100.1)
    asked.ask(signal.SIGINT)
    assert asked.signal_name == "SIGINT"
    clock.append(100.7)  # this one is of a person
    with pytest.raises(KeyboardInterrupt):
        asked.ask(signal.SIGINT)


def test_sigterm_may_come_as_often_as_it_likes(clock):
    asked = Interruption()
    for time in (100.0, 101.0, 102.0):
        clock.append(time)
        asked.ask(signal.SIGTERM)
    assert asked.signal_name == "SIGTERM"


def test_a_handler_that_a_library_replaces_is_put_back():
    def handle(number: int, _: object) -> None:
        pass

    before = signal.signal(signal.SIGTERM, handle)
    try:
        with own_signals():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGTERM) is handle
    finally:
        signal.signal(signal.SIGTERM, before)
