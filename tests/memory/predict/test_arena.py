from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from holdfast.memory.predict.arena import PAGE, Arena

MIB = 1 << 20
REAL = Path(__file__).with_name("real_arena.py")


def test_every_chunk_is_as_large_as_tensorflow_makes_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(REAL), str(tmp_path)],
        env=os.environ | {"TF_ENABLE_ONEDNN_OPTS": "1"},  # which brings the arena
        capture_output=True,
        text=True,
        check=True,
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    arena, held = Arena(), {}
    for event in events:
        if event["requested"]:
            chunk = held[event["address"]] = arena.allocate(event["requested"])
            assert chunk.bytes == event["chunk"]
        else:
            arena.free(held.pop(event["address"]))
    assert len(events) > 300


def test_freed_memory_is_used_again_and_never_given_back() -> None:
    arena = Arena()
    arena.free(arena.allocate(MIB))
    arena.free(arena.allocate(MIB))
    assert arena.touched_bytes == MIB


def test_each_region_is_twice_the_last_one() -> None:
    arena = Arena()
    held = [arena.allocate(MIB) for _ in range(14)]
    assert arena.reserved_bytes == (2 + 4 + 8) * MIB
    assert arena.touched_bytes == len(held) * MIB


def test_what_is_reserved_is_one_region_and_untouched() -> None:
    arena = Arena()
    arena.reserve(100 * MIB)
    assert arena.reserved_bytes == 128 * MIB
    assert arena.touched_bytes == 0
    for _ in range(14):
        arena.allocate(MIB)
    assert arena.reserved_bytes == 128 * MIB


def test_a_hole_that_is_too_small_stays_a_hole() -> None:
    arena = Arena()
    chunks = [arena.allocate(MIB) for _ in range(4)]
    arena.free(chunks[1])
    arena.allocate(MIB + PAGE)
    assert arena.touched_bytes == 5 * MIB + PAGE


def test_neighbors_that_are_free_become_one() -> None:
    arena = Arena()
    chunks = [arena.allocate(MIB) for _ in range(6)]
    for chunk in chunks[2:5]:
        arena.free(chunk)
    before = arena.touched_bytes
    arena.allocate(3 * MIB)
    assert arena.touched_bytes == before


@given(st.lists(st.tuples(st.integers(1, 8 * MIB), st.booleans()), max_size=60))
def test_it_touches_at_least_what_is_alive_and_at_most_what_it_reserved(
    requests: list[tuple[int, bool]],
) -> None:
    arena, held, alive, peak = Arena(), [], 0, 0
    for size, frees in requests:
        held.append((arena.allocate(size), size))
        alive += size
        peak = max(peak, alive)
        if frees:
            chunk, freed = held.pop(0)
            arena.free(chunk)
            alive -= freed
    assert peak <= arena.touched_bytes <= arena.reserved_bytes or not requests
    spans = sorted((chunk.start, chunk.start + size) for chunk, size in held)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
