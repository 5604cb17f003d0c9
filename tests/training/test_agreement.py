"""Processes that sum together as steps do: whoever is lost, the others end and say who."""

from __future__ import annotations

from pathlib import Path

import pytest

from .workers import ended, free_addresses, start_worker

PROGRAM = Path(__file__).with_name("light_worker.py")
WHY = {
    "killed": "ended without a word",
    "frozen": "has not answered for",
    "stuck": "it reads the batch of step 4",
}


def disturbed(how: str, count: int = 2) -> list[tuple[int, str]]:
    """Disturb the last of so many processes; give how all ended, and what they said."""
    addresses = free_addresses(count)
    processes = [
        start_worker([str(PROGRAM), "1000", how if index == count - 1 else ""], addresses, index)
        for index in range(count)
    ]
    others = [ended(process) for process in processes[:-1]]
    if how == "frozen":
        processes[-1].kill()
    return [*others, ended(processes[-1])]


@pytest.mark.parametrize(
    ("how", "count"),
    [
        ("killed", 2),
        *(pytest.param(how, 2, marks=pytest.mark.slow) for how in ("frozen", "stuck")),
        *(pytest.param(how, 4, marks=pytest.mark.slow) for how in WHY),
    ],
)
def test_the_others_end_and_say_who(how, count):
    *others, last = disturbed(how, count)
    for code, said in others:
        assert code == 1, said
        assert f"Worker {count - 1} (127.0.0.1:" in said
        assert WHY[how] in said
    if how == "stuck":  # it cannot end by itself, and is told
        assert (last[0], WHY[how] in last[1]) == (1, True)


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 4])
def test_a_signal_to_one_stops_all_after_the_same_step(count):
    assert [(code, said.splitlines()[-1]) for code, said in disturbed("stopped", count)] == [
        (0, "stopped after step 4")
    ] * count
