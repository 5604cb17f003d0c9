from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast.data.sources.decode_gate import DecodeGate


def most_held(budget: int, sizes: list[int], threads: int = 8) -> tuple[int, int]:
    """Let threads in and out, and give the most bytes and the most threads that were in at once."""
    gate, lock = DecodeGate(budget), threading.Lock()
    inside: list[int] = []
    seen: list[tuple[int, int]] = []

    def enter(size: int) -> None:
        with gate.room_for(size):
            with lock:
                inside.append(size)
                seen.append((sum(inside), len(inside)))
            threading.Event().wait(0.001)
            with lock:
                inside.remove(size)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(enter, sizes))
    return max(held for held, _ in seen), max(count for _, count in seen)


def test_what_is_held_together_stays_within_the_budget():
    held, count = most_held(100, [30, 50, 20, 60, 10] * 20)
    assert held <= 100
    assert count > 1


def test_what_is_larger_than_the_budget_is_let_in_alone():
    gate, order = DecodeGate(100), []
    with gate.room_for(10):
        large = threading.Thread(target=lambda: order.append(_enter(gate, 500)))
        large.start()
        large.join(0.05)
        assert order == []
    large.join()
    assert order == [500]


def _enter(gate: DecodeGate, size: int) -> int:
    with gate.room_for(size):
        return size


def test_an_error_inside_gives_the_room_back():
    gate = DecodeGate(100)
    with pytest.raises(ValueError, match="broken"), gate.room_for(100):
        raise ValueError("broken")
    assert _enter(gate, 100) == 100
