"""One trial: `holdfast train` in a process of its own, its evaluations heard while it trains."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.runs.event_tail import EventTail
from holdfast.runs.lock import RunLock
from holdfast.runs.run import EVENTS_NAME, is_run
from holdfast.training.surviving.supervised import PARENT_VARIABLE

_LOOK_SECONDS = 0.5
_MOST_LOOKS = 60  # for a training to end that nobody waits for any more
_KEPT_LINES = 6  # of the log, where it names no error


@dataclass(frozen=True, kw_only=True)
class ProcessEnd:
    """How the process of a trial ended."""

    code: int
    was_stopped: bool  # because a listener said so
    reason: str  # what it said last, unless it ended well


@dataclass(frozen=True, kw_only=True)
class HeardEvaluation:
    """An evaluation of the trial."""

    step: int
    metrics: dict[str, float | None]


class SearchStoppedError(Exception):
    """Someone asked the search to stop; the trial has saved what it learned."""


def holdfast_command(*arguments: str) -> list[str]:
    """Give the command that runs Holdfast as this process does."""
    return [sys.executable, "-m", "holdfast", *arguments]


def train_trial(
    arguments: Sequence[str],
    run: Path,
    log: Path,
    hear: Callable[[HeardEvaluation], bool],
) -> ProcessEnd:
    """Train in a run folder until it ends, or until `hear` says that it is to be stopped.

    A trial that is stopped saves a checkpoint first. It does not outlive this process.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    _wait_until_free(run)
    with open(log, "ab") as output, _lifeline() as pipe:
        start = log.stat().st_size
        process = subprocess.Popen(
            holdfast_command("train", *arguments),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=(pipe,),
            env=os.environ | {PARENT_VARIABLE: str(pipe)},
            start_new_session=True,  # Ctrl-C is passed on once, as SIGTERM
        )
        try:
            was_stopped = _followed(process, EventTail(run / EVENTS_NAME), hear)
        except BaseException as error:
            _stop(process)
            if isinstance(error, KeyboardInterrupt):
                raise SearchStoppedError from None
            raise
    code = process.returncode
    return ProcessEnd(
        code=code, was_stopped=was_stopped, reason=_last_words(log, start) if code else ""
    )


def run_quietly(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run another command of Holdfast to its end, and keep what it prints."""
    return subprocess.run(
        holdfast_command(*arguments),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def error_of(text: str) -> str:
    """Give the last error that a command printed, on one line; else the end of what it printed.

    >>> error_of("step 3, error: The loss is NaN after step 3.")
    'The loss is NaN after step 3.'
    """
    found = text.rfind("error: ")
    told = text[found + len("error: ") :] if found >= 0 else ""
    lines = told.splitlines() if told else text.splitlines()[-_KEPT_LINES:]
    return " ".join(" ".join(lines).split())


def _wait_until_free(run: Path) -> None:
    """Let a training end whose search was killed a moment ago."""
    for _ in range(_MOST_LOOKS):
        if not is_run(run):
            return
        try:
            RunLock(run).release()
        except HoldfastError:
            time.sleep(_LOOK_SECONDS)
        else:
            return


def _followed(
    process: subprocess.Popen[bytes], tail: EventTail, hear: Callable[[HeardEvaluation], bool]
) -> bool:
    """Wait for the end; tell whether it was stopped."""
    told: set[int] = set()
    was_stopped = False
    while True:
        is_over = _ended(process)
        for each in _evaluations(tail):
            if each.step not in told:
                told.add(each.step)
                if hear(each) and not is_over and not was_stopped:
                    was_stopped = True
                    process.send_signal(signal.SIGTERM)
        if is_over:
            return was_stopped


def _ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(timeout=_LOOK_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _evaluations(tail: EventTail) -> Iterator[HeardEvaluation]:
    for event in tail.read():
        if event.kind == "evaluation":
            yield HeardEvaluation(step=event.step, metrics=event.values["metrics"])


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Let it save and end; whoever cannot wait asks again."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait()
    except KeyboardInterrupt:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def _lifeline() -> Iterator[int]:
    """Give a pipe whose other end is open as long as this process lives, and no longer."""
    reading, writing = os.pipe()
    try:
        yield writing
    finally:
        os.close(reading)
        os.close(writing)


def _last_words(log: Path, start: int) -> str:
    with open(log, "rb") as stream:
        stream.seek(start)
        text = stream.read().decode(errors="replace")
    return error_of(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text))


def metric_of(heard: HeardEvaluation, name: str) -> float | None:
    """Give a metric of an evaluation, None where it is not a number; an unknown one is an error."""
    if name not in heard.metrics:
        raise HoldfastError(
            f"The evaluation has no metric {name!r}.",
            fix=f"Give --metric one of: {', '.join(heard.metrics)}.",
        )
    return heard.metrics[name]
