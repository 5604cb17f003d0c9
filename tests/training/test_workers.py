"""Several processes that train together: one that goes ends all, and all again go on."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.runs.run import Run

from .workers import ended, free_addresses, losses, start, start_worker, wait_for_step

STEPS = 8


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    convert(open_source("20@64", format_name="synthetic", seed=1), str(folder), val=0.0, seed=0)
    return folder


@pytest.fixture(scope="module")
def undisturbed(data, tmp_path_factory) -> dict[int, list[float]]:
    """The losses of runs of which nobody disturbs a process, by the number of processes."""
    found = {}
    for count in (2, 4):
        run = tmp_path_factory.mktemp("undisturbed") / str(count)
        for process in start(data, *[run] * count, steps=STEPS, evaluate_every=4):
            code, said = ended(process, 300)
            assert code == 0, said
        found[count] = losses(run)
    return found


def disturb(data: Path, run: Path, count: int, how: str) -> list[tuple[int, str]]:
    """Train with one process disturbed, the last; give how the others ended, and what they said."""
    victim = count - 1
    stuck_at = {victim: 5} if how == "stuck" else {}
    processes = start(data, *[run] * count, evaluate_every=4, stuck_at=stuck_at)
    wait_for_step(processes, run, 5)
    signals = {"killed": signal.SIGKILL, "frozen": signal.SIGSTOP, "stopped": signal.SIGTERM}
    if how in signals:
        processes[victim].send_signal(signals[how])
    begun = time.monotonic()
    others = [ended(process) for process in processes[:victim]]
    print(f"{how}, {count} processes: the others ended after {time.monotonic() - begun:.0f} s")
    if how == "frozen":
        processes[victim].kill()
    ended(processes[victim])
    return others


WHY = {
    "killed": "ended without a word",
    "frozen": "has not answered",
    "stuck": "it reads the batch of step 6",
}


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("how", ["killed", "frozen", "stuck", "stopped"])
def test_when_one_is_disturbed_the_others_end_and_say_who_and_all_again_train_as_if_nothing_were(
    data, tmp_path, undisturbed, how, count
):
    run = tmp_path / "run"
    for code, said in disturb(data, run, count, how):
        if how == "stopped":
            assert code == 0, said
            assert Run.open(run).read_events()[-1].kind == "saved"
        else:
            assert code == 1, said
            assert f"Worker {count - 1} (127.0.0.1:" in said
            assert WHY[how] in said
    for process in start(data, *[run] * count, steps=STEPS, evaluate_every=4):
        code, said = ended(process, 300)
        assert code == 0, said
    assert losses(run)[:STEPS] == pytest.approx(undisturbed[count], abs=1e-5)
