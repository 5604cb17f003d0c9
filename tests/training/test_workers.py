"""Several processes that train together: one that goes ends all, and all again go on."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.runs.run import Run

from .workers import PROGRAM, ended, free_addresses, losses, start, start_worker, wait_for_step

STEPS = 16
EVERY = {"evaluate_every": 4, "checkpoint_every": 2}


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    convert(open_source("20@64", format_name="synthetic", seed=1), str(folder), val=0.0, seed=0)
    return folder


def end_well(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        code, said = ended(process, 400)
        assert code == 0, said


def disturbed(
    processes: list[subprocess.Popen[str]], run: Path, step: int, number: signal.Signals
) -> list[tuple[int, str]]:
    """Signal the last process after a step; give how the others ended, and what they said."""
    wait_for_step(processes, run, step)
    processes[-1].send_signal(number)
    others = [ended(process) for process in processes[:-1]]
    if number == signal.SIGSTOP:
        processes[-1].kill()
    ended(processes[-1])
    return others


def all_say(others: list[tuple[int, str]], why: str) -> None:
    """See that every process ended with an error that names the last one."""
    for code, said in others:
        assert code == 1, said
        assert f"Worker {len(others)} (127.0.0.1:" in said
        assert why in said


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 4])
def test_whoever_is_disturbed_the_others_end_and_say_who_and_the_same_command_goes_on(
    data, tmp_path, count
):
    run, whole = [tmp_path / "run"] * count, [tmp_path / "whole"] * count
    processes = start(data, *run, **EVERY)
    all_say(disturbed(processes, run[0], 3, signal.SIGKILL), "ended without a word")
    processes = start(data, *run, **EVERY)
    all_say(disturbed(processes, run[0], 6, signal.SIGSTOP), "has not answered for")
    last = count - 1
    processes = start(data, *run, stuck_at={last: 9}, **EVERY)
    others = [ended(process) for process in processes[:last]]
    all_say(others, "it reads the batch of step 10")
    code, said = ended(processes[last])  # it cannot end by itself
    assert (code, "it reads the batch of step 10" in said) == (1, True)
    processes = start(data, *run, **EVERY)
    for code, said in disturbed(processes, run[0], 12, signal.SIGTERM):
        assert code == 0, said
    assert list(Run.open(run[0]).read_events())[-1].kind in ("saved", "evaluation")
    assert losses(run[0])  # one checkpoint at the step at which all stopped
    done = len(losses(run[0]))
    end_well(start(data, *run, steps=max(done + 1, STEPS), **EVERY))
    end_well(start(data, *whole, steps=max(done + 1, STEPS), **EVERY))
    assert losses(run[0]) == pytest.approx(losses(whole[0]), abs=1e-5)


def test_a_process_that_nobody_joins_ends_and_says_who_is_missing(data, tmp_path):
    addresses = free_addresses(2)
    command = [str(PROGRAM), str(data), str(tmp_path / "run"), "--plain", "--peer-seconds", "2"]
    code, said = ended(start_worker(command, addresses, 0))
    assert code == 1
    assert f"did not come: worker 1 ({addresses[1]})" in said
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_sigterm_ends_a_process_that_waits_for_the_others(data, tmp_path):
    process = start_worker([str(PROGRAM), str(data), str(tmp_path / "run")], free_addresses(2), 0)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=15)
    process.terminate()
    assert ended(process)[0] == -signal.SIGTERM


@pytest.mark.slow
def test_a_worker_that_does_not_see_the_run_resumes_with_the_state_of_the_first(data, tmp_path):
    shared, own = tmp_path / "shared", tmp_path / "own"
    whole = tmp_path / "whole"
    end_well(start(data, whole, whole, steps=8))
    end_well(start(data, shared, own, steps=4))
    assert not own.exists()
    end_well(start(data, shared, own, steps=8))
    assert losses(shared) == losses(whole)
