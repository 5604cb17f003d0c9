"""The parent of a training, with a child that only pretends to train."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from holdfast.runs.run import Run
from holdfast.training.surviving.child_process import run_child

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "sigtimedwait"), reason="this system cannot wait for signals"
)
PROGRAM = Path(__file__).with_name("pretended_training.py")


@pytest.fixture
def run(tmp_path) -> Path:
    return tmp_path / "run"


def start(run: Path, *starts: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), str(run), *starts],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )


def finished(run: Path, *starts: str, **environment: str) -> subprocess.CompletedProcess[str]:
    process = start(run, *starts, **environment)
    out, err = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def steps(run: Path) -> list[int]:
    return [event.step for event in Run.open(run).read_events() if event.kind == "step"]


def events(run: Path, kind: str) -> list[tuple[int, dict]]:
    found = Run.open(run).read_events()
    return [(event.step, event.values) for event in found if event.kind == kind]


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGABRT"])
def test_what_dies_is_started_again_from_its_last_checkpoint_and_that_is_said(run, name):
    ended = finished(run, f"save:5,step:7,die:{name}", "save:9,exit:0")
    assert ended.returncode == 0, ended.stderr
    assert f"told: The training died after step 7 ({name})." in ended.stdout
    assert "started again as it was, from the checkpoint of step 5." in ended.stdout
    assert steps(run) == list(range(1, 10))
    assert events(run, "restarted") == [(5, {"cause": name, "evidence": None, "reached": 7})]
    assert "ran_out" not in Run.open(run).manifest.facts


@pytest.mark.parametrize("code", [0, 1, 2, 130])
def test_what_ends_by_itself_is_not_started_again_and_its_code_is_passed_on(run, code):
    ended = finished(run, f"step:1,exit:{code}", "exit:99")
    assert ended.returncode == code
    assert "told" not in ended.stdout


def test_memory_that_ran_out_is_noted_for_the_next_process(run):
    said = "terminate called after throwing an instance of 'std::bad_alloc'"
    ended = finished(run, f"save:2,native:{said},die:SIGABRT", "exit:0")
    assert ended.returncode == 0
    assert "Memory was the cause: it wrote: terminate called" in ended.stdout
    assert "started again in the next cheaper way, from the checkpoint of step 2" in ended.stdout
    assert said in ended.stderr  # the user sees it too
    assert "bad_alloc" in Run.open(run).manifest.facts["ran_out"]
    ((step, values),) = events(run, "restarted")
    assert (step, values["cause"]) == (2, "SIGABRT")
    assert "bad_alloc" in values["evidence"]


def test_memory_that_ran_out_beside_a_step_is_met_with_a_cheaper_way_too(run):
    ended = finished(run, "step:1,exit:75", "exit:0")
    assert ended.returncode == 0
    assert "in the next cheaper way, from the beginning" in ended.stdout
    assert "ran_out" in Run.open(run).manifest.facts


def test_after_three_restarts_without_a_new_checkpoint_it_is_given_up(run):
    ended = finished(run, "save:2,step:3,die:SIGSEGV")
    assert ended.returncode == 1
    assert run.with_suffix(".starts").read_text() == "4"
    assert ended.stdout.count("told:") == 3
    assert "error: The training died after step 3 (SIGSEGV)." in ended.stdout
    assert "started again 3 times and reached no new checkpoint" in ended.stdout
    assert "keeps the checkpoint of step 2" in ended.stdout
    assert [step for step, _ in events(run, "gave_up")] == [2]


def test_as_long_as_it_gets_further_it_is_not_given_up(run):
    starts = [f"save:{step},die:SIGKILL" for step in range(1, 7)]
    ended = finished(run, *starts, "exit:0")
    assert ended.returncode == 0
    assert ended.stdout.count("told:") == 6


@pytest.mark.parametrize("index", [0, 1])
def test_one_of_several_workers_is_not_started_again_alone(run, index):
    task = f'"task": {{"type": "worker", "index": {index}}}'
    workers = f'{{"cluster": {{"worker": ["a:1", "b:1"]}}, {task}}}'
    ended = finished(run, "step:2,native:bad_alloc,die:SIGABRT", "exit:0", TF_CONFIG=workers)
    assert ended.returncode == 1
    assert "one of 2 processes" in ended.stdout
    assert "Start all of them again with --rematerialize" in ended.stdout
    assert len(events(run, "gave_up")) == 1 - index  # only the first writes the run
    assert "ran_out" not in Run.open(run).manifest.facts


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_asks_to_stop_reaches_the_child_once(run, number):
    process = start(run, "listen", "exit:99")
    assert process.stdout is not None
    while process.stdout.readline() != "listening\n":
        pass
    process.send_signal(number)
    out, _ = process.communicate()
    assert f"heard: {number.name}\n" in out
    assert process.returncode == 1


def test_after_a_pause_no_signal_is_passed_on_that_nobody_sent(monkeypatch):
    never_was = SimpleNamespace(si_signo=-7, si_code=0)  # as sigtimedwait gives it after a pause
    monkeypatch.setattr(signal, "sigtimedwait", lambda *_: never_was)
    ended = run_child([sys.executable, "-c", "import time; time.sleep(0.3)"])
    assert (ended.code, ended.was_asked) == (0, False)


def test_a_signal_that_comes_before_the_child_listens_ends_both(run):
    process = start(run, "wait", "exit:99")
    child = waiting_child(process)
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == -signal.SIGTERM
    assert not is_alive(child)


def test_the_child_does_not_outlive_a_parent_that_is_killed(run):
    process = start(run, "wait")
    child = waiting_child(process)
    process.kill()
    process.communicate()
    while is_alive(child):
        time.sleep(0.01)


def waiting_child(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    while True:
        name, _, number = process.stdout.readline().partition(" ")
        if name == "waiting":
            return int(number)


def is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2]
    except OSError:
        return False
    return not state.startswith(("Z", "X"))


def test_on_a_terminal_the_child_has_it_too_and_hears_ctrl_c_once(run):
    process, terminal = pty.fork()
    if process == 0:
        os.execv(sys.executable, [sys.executable, str(PROGRAM), str(run), "tty,listen"])
    shown = ""
    while "listening" not in shown:
        shown += os.read(terminal, 1000).decode()
    assert "terminals: stdin stdout stderr" in shown
    os.write(terminal, b"\x03")
    while "\r\n" not in shown.partition("heard:")[2]:
        shown += os.read(terminal, 1000).decode()
    _, status = os.waitpid(process, 0)
    os.close(terminal)
    assert "heard: SIGINT\r\n" in shown
    assert os.waitstatus_to_exitcode(status) == 1


def test_the_parent_loads_neither_tensorflow_nor_keras_nor_numpy(run):
    ended = finished(run, "exit:0")
    assert ended.stdout.splitlines()[0].split() == ["loaded:"]
