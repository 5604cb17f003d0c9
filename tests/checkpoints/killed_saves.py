"""A script: kills processes that save checkpoints, and looks at what they leave.

Usage: python -m tests.checkpoints.killed_saves EMPTY_FOLDER. Every child is forked from this
process, which has imported TensorFlow but runs none of its operations.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from holdfast.checkpoints.own import store
from holdfast.checkpoints.own.saved_checkpoints import (
    Checkpoint,
    best_of,
    checkpoints_in,
    restore,
    restore_latest,
)
from holdfast.checkpoints.own.store import CheckpointStore

from ..runs.crashes import at_each_operation

KEEP = 2


def tensors(step: int, size: int) -> dict[str, np.ndarray]:
    names = ("model/kernel", "optimizer/kernel/momentum", "average/kernel", "state/seed")
    return {name: np.full(size, step + index, np.float32) for index, name in enumerate(names)}


def metric(step: int) -> float:
    return float(step * 7 % 11)  # up and down, so that the best is sometimes old


def save(checkpoints: CheckpointStore, step: int, size: int) -> None:
    """Save as training does: first the state, and the metric when it is known."""
    checkpoint = checkpoints.save(step, tensors(step, size), {"position": step * 8})
    checkpoints.rate(checkpoint, metric(step))


def check(folder: Path) -> list[Checkpoint]:
    """Read everything that can be seen, before anything is cleaned up."""
    found = checkpoints_in(folder)
    for checkpoint in found:
        values = restore(checkpoint).tensors
        expected = tensors(checkpoint.step, values["state/seed"].size)
        assert set(values) == set(expected)
        assert all(np.array_equal(values[name], expected[name]) for name in expected)
        assert checkpoint.extra == {"position": checkpoint.step * 8}
        assert checkpoint.metric in (None, metric(checkpoint.step))
    latest = restore_latest(folder)
    assert (latest.checkpoint if latest else None) == (found[-1] if found else None)
    return found


def check_clean(folder: Path) -> None:
    """Open the store, as the next process does."""
    CheckpointStore(folder, KEEP)
    names = {path.name for path in folder.iterdir()}
    assert names == {path.path.name for path in check(folder)}, names
    for path in folder.iterdir():
        assert len(list(path.iterdir())) == 3, "index, data and checkpoint.json"


# --- a kill before every file operation ----------------------------------------------------------


def killed_at_every_operation(folder: Path, next_step: int) -> None:
    """Kill the third save, which makes one too many; or which replaces the second."""
    ready, spare = folder.with_name("ready"), folder.with_name("spare")
    first = os.fork()
    if first == 0:
        for step in (1, 2):
            save(CheckpointStore(ready, KEEP), step, 10)
        save(CheckpointStore(spare), next_step, 10)
        os._exit(0)
    os.waitpid(first, 0)

    def write_bundle(prefix: Path, _: object) -> None:
        """Copy the files; TensorFlow would need longer to start than all the rest takes."""
        for path in spare.glob(f"*/{prefix.name}.*"):
            shutil.copy(path, prefix.parent)

    def prepare() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(ready, folder)

    def third() -> None:
        store.write_bundle = write_bundle
        save(CheckpointStore(folder, KEEP), next_step, 10)

    steps = set()
    for _ in at_each_operation(prepare, third):
        found = check(folder)
        steps.add(tuple(each.step for each in found))
        assert {1, 2} <= {each.step for each in found} or found[-1].step == next_step
        check_clean(folder)
        assert [each.step for each in check(folder)] == [each.step for each in found]
    # Step 1 goes when there are two newer ones; 2 is the best of all and stays.
    assert steps == ({(1, 2)} if next_step == 2 else {(1, 2), (1, 2, 3), (2, 3)}), steps
    shutil.rmtree(ready)
    shutil.rmtree(spare)


# --- a kill at a random moment -------------------------------------------------------------------


def save_on(folder: Path, told: int) -> None:
    checkpoints = CheckpointStore(folder, KEEP)
    restored = checkpoints.restore_latest()
    step = restored.checkpoint.step if restored else 0
    while True:
        step += 1
        save(checkpoints, step, 250_000)
        os.write(told, b"%d\n" % step)


def killed_at_random(folder: Path, kills: int) -> None:
    moments = random.Random(3)
    done: set[int] = set()
    interrupted = 0
    for _ in range(kills):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            save_on(folder, writing)
        os.close(writing)
        with os.fdopen(reading) as told:
            first = told.readline()
            assert first, "the child failed by itself"
            time.sleep(moments.uniform(0, 0.15))
            os.kill(child, signal.SIGKILL)
            done |= {int(line) for line in [first, *told] if line.endswith("\n")}
        os.waitpid(child, 0)
        interrupted += any(path.name.startswith(".") for path in folder.iterdir())
        check_history(check(folder), done)
    assert interrupted, "no kill came while something was being written"


def check_history(found: list[Checkpoint], done: set[int]) -> None:
    """The last that was saved and the best that was judged are there, and not many more."""
    best = best_of(found)
    assert best is not None
    assert best.metric >= max(metric(step) for step in done)
    assert found[-1].step >= max(done)
    assert len(found) <= KEEP + 2  # the best, and one that was about to go


if __name__ == "__main__":
    warnings.simplefilter("error")  # a damaged checkpoint would be passed over with a warning
    root = Path(sys.argv[1])
    killed_at_random(root / "random", kills=20)
    killed_at_every_operation(root / "added", next_step=3)
    killed_at_every_operation(root / "replaced", next_step=2)
