"""Planted leaks are named within 200 steps, and what is healthy is left in peace."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import chain

import numpy as np
import pytest
import tensorflow as tf

from holdfast.memory.devices.allocation import ENVIRONMENT
from holdfast.memory.watch.leak_watch import Growth, LeakWatch
from holdfast.memory.watch.suspects import (
    INPUT_BUFFER,
    OPEN_FILES,
    PYTHON,
    RETRACING,
    input_buffers,
)

GIB = 2**30
hoard: list[object] = []


@pytest.fixture(autouse=True)
def empty_hoard():
    yield
    for each in hoard:
        if hasattr(each, "close"):
            each.close()
    hoard.clear()


def watched(watch: LeakWatch, step_work, steps: int = 200, shapes=None) -> list[Growth]:
    found = []
    for step in range(1, steps + 1):
        step_work(step)
        found += watch.look(step, shapes(step) if shapes else {"images": (8, 64, 64, 3)})
    return found


def test_a_list_that_grows_is_named_with_its_place():
    # What the process itself holds depends on what other tests freed in it.
    watch = LeakWatch(
        limit_bytes=8 * GIB, last_step=10_000, host_bytes=lambda: GIB + 400_000 * len(hoard)
    )
    (growth,) = watched(watch, lambda step: hoard.append(np.ones(100_000, np.float32)))
    assert growth.cause.name == PYTHON
    assert "hoard" in growth.cause.detail
    assert "numpy.ndarray" in growth.cause.detail
    assert growth.per_step == pytest.approx(400_000)
    assert growth.limit_step == pytest.approx(
        (8 * GIB - growth.held) / 400_000 + growth.step, abs=1
    )
    assert f"step {growth.limit_step}" in str(growth)


def test_an_endless_cache_is_named():
    data = tf.data.Dataset.from_tensors(tf.zeros([200_000])).repeat()
    batches = iter(data.map(lambda each: each + 1.0).cache())
    held = iter(range(GIB, 2 * GIB, 8_000_000))  # ten steps of it
    watch = LeakWatch(
        limit_bytes=8 * GIB,
        last_step=10_000,
        buffers=lambda: input_buffers(batches),
        host_bytes=lambda: next(held),
    )
    (growth,) = watched(watch, lambda step: next(batches))
    assert growth.cause.name == INPUT_BUFFER
    assert "cache" in growth.cause.detail


def test_a_shape_that_changes_is_named():
    doubled = tf.function(lambda values: values * 2.0)
    held = iter(range(GIB, 2 * GIB, 2**20))  # traces of a real network are that large
    watch = LeakWatch(
        limit_bytes=8 * GIB,
        last_step=10_000,
        traces=doubled.experimental_get_tracing_count,
        host_bytes=lambda: next(held),
    )
    found = watched(
        watch,
        lambda step: doubled(tf.zeros([step // 16 + 1, 4])),
        shapes=lambda step: {"images": (8, 64, 64, 3), "boxes": (step // 16 + 1, 4)},
    )
    assert [each.cause.name for each in found] == [RETRACING]
    assert "boxes: 1 x 4, 2 x 4" in found[0].cause.detail
    assert "images" not in found[0].cause.detail


def test_files_left_open_are_named(tmp_path):
    path = tmp_path / "file"
    path.touch()
    watch = LeakWatch(limit_bytes=8 * GIB, last_step=10_000)
    found = watched(watch, lambda step: hoard.append(path.open()))
    assert [each.cause.name for each in found] == [OPEN_FILES]


COMES_AND_GOES = """
import numpy as np
from holdfast.memory.watch.leak_watch import LeakWatch
watch = LeakWatch(limit_bytes=2**33, last_step=1000)
chance = np.random.default_rng(0)
for step in range(1, 1001):
    np.ones(chance.integers(1, 2**22))
    print(*watch.look(step, {}), end="")
"""


def test_memory_that_comes_and_goes_raises_no_alarm():
    # In a process of its own: here it would fill again what other tests freed, little by little.
    found = subprocess.run(
        [sys.executable, "-c", COMES_AND_GOES],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | dict(ENVIRONMENT),
    )
    assert not found.stdout


def test_plateaus_after_evaluations_raise_no_alarm():
    chance = np.random.default_rng(0)

    def held() -> int:
        steps[0] += 10
        return int(GIB + 30e6 * min(steps[0] // 100, 6) + chance.uniform(0, 2e5) + 10 * steps[0])

    steps = [0]
    watch = LeakWatch(limit_bytes=8 * GIB, last_step=1000, host_bytes=held)
    assert not watched(watch, lambda step: None, steps=1000)


# MiB that a training held at its steps 340, 350, …: an evaluation at step 425, and memory that the
# watch gave back after steps 410 and 440.
AROUND_AN_EVALUATION = (
    *(1245.7, 1246.0, 1246.3, 1246.0, 1246.2, 1245.5, 1245.8, 1246.1, 1234.5, 1296.5, 1298.1),
    *(1283.0, 1284.0, 1283.6, 1291.5, 1295.0, 1295.1, 1295.6),
)


def test_an_evaluation_raises_no_alarm():
    now = [0]
    watch = LeakWatch(
        limit_bytes=8 * GIB,
        last_step=1700,
        buffers=lambda: ["a shuffle buffer"],
        host_bytes=lambda: int(AROUND_AN_EVALUATION[now[0] // 10 - 2] * 2**20),
    )
    for step in range(1, 200):
        now[0] = step
        assert not watch.look(step, {})


@pytest.mark.parametrize(("freed", "is_told"), [(GIB, False), (2**20, True)])
def test_what_was_given_back_may_be_used_again(freed, is_told):
    held = chain([GIB + freed], range(GIB, 2 * GIB, 2**20))
    watch = LeakWatch(limit_bytes=8 * GIB, last_step=10_000, host_bytes=lambda: next(held))
    assert bool(watched(watch, lambda step: None, steps=400)) == is_told


@pytest.mark.parametrize(("last_step", "is_told"), [(5_000, False), (1_000_000, True)])
def test_slow_growth_counts_only_if_the_limit_comes_before_the_end(last_step, is_told):
    held = iter(range(GIB, 2 * GIB, 200_000))  # 20 kB a step
    watch = LeakWatch(limit_bytes=2 * GIB, last_step=last_step, host_bytes=lambda: next(held))
    assert bool(watched(watch, lambda step: None, steps=2_500)) == is_told


def test_a_checkpoint_is_asked_for_before_the_limit_is_reached():
    now = [0]
    watch = LeakWatch(
        limit_bytes=2 * GIB,
        last_step=10_000,
        host_bytes=lambda: GIB + now[0] * 2**20,  # 1024 steps to the limit
    )
    wanted = []
    for step in range(1, 1040):
        now[0] = step
        watch.look(step, {})
        if watch.wants_checkpoint(step):
            wanted.append(step)
    assert wanted
    assert 1000 <= wanted[0] < 1024
