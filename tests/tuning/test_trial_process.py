"""The process of a trial: heard, stopped, and never left alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from holdfast.tuning.trial_process import error_of, train_trial

from .pretended_holdfast import METRIC

PROGRAM = """
import sys
from pathlib import Path
from tests.tuning import pretended_holdfast
from holdfast.tuning import trial_process
trial_process.holdfast_command = pretended_holdfast.command
run = Path(sys.argv[1])
given = ["--run", str(run), "--steps", "1000", "--evaluate-every", "1"]
trial_process.train_trial([*given, "--set", "a.learning_rate=0.1"], run, run.with_suffix(".txt"),
                          lambda heard: False)
"""


def arguments(run: Path, rate: float, steps: int = 4) -> list[str]:
    given = ["--run", str(run), "--steps", str(steps), "--evaluate-every", "1"]
    return [*given, "--set", f"a.learning_rate={rate}"]


def test_every_evaluation_is_heard_once(tmp_path, pretended):
    heard = []
    run = tmp_path / "run"
    end = train_trial(arguments(run, 0.01), run, tmp_path / "log", lambda each: heard.append(each))
    assert (end.code, end.was_stopped, end.reason) == (0, False, "")
    assert [each.step for each in heard] == [1, 2, 3, 4]
    assert [each.metrics[METRIC] for each in heard] == [0.25, 0.5, 0.75, 1.0]


def test_a_trial_is_stopped_when_a_listener_says_so(tmp_path, pretended):
    run = tmp_path / "run"
    end = train_trial(arguments(run, 0.01, 500), run, tmp_path / "log", lambda each: each.step >= 2)
    assert end.was_stopped
    assert end.code == 1


def test_the_last_words_of_a_trial_that_failed_are_its_error(tmp_path, pretended):
    run = tmp_path / "run"
    end = train_trial(arguments(run, 0.9), run, tmp_path / "log", lambda each: False)
    assert (end.code, end.reason) == (1, "The loss is not a finite number.")


def test_without_an_error_the_last_lines_are_the_reason():
    assert error_of("one\ntwo") == "one two"


def test_a_trial_does_not_outlive_a_search_that_is_killed(tmp_path):
    project = Path(__file__).resolve().parents[2]
    paths = os.pathsep.join([str(project), os.environ.get("PYTHONPATH", "")])
    run = tmp_path / "run"
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(run)], env=os.environ | {"PYTHONPATH": paths}
    ) as search:
        lock = run / ".lock"
        while not (run / "events.jsonl").exists():
            assert search.poll() is None
            time.sleep(0.02)
        trial = int(lock.read_text())
        assert is_alive(trial)
        search.send_signal(signal.SIGKILL)
    while is_alive(trial):  # the test would not end
        time.sleep(0.02)


def is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"
