"""The parent of a training: what kills the process that trains is survived here.

The kernel kills what takes too much memory, oneDNN crashes where addresses run out, libraries
abort. None of it can be caught inside. This process starts the training, and starts it again from
its last checkpoint: in the next cheaper way if memory was the cause, else as it was. It loads
neither TensorFlow nor Keras nor NumPy.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.runs.run import Run, is_run
from holdfast.training.cluster import is_chief, num_workers
from holdfast.training.surviving.child_process import Ending, run_child
from holdfast.training.surviving.memory_evidence import memory_evidence

FAILED = 1  # exit code
OUT_OF_MEMORY = 75  # exit code of a child that saw memory run out where it could not go on
RAN_OUT = "ran_out"  # in the manifest: the next process takes a cheaper way, and removes it
SAVED, STEP, RESTARTED, GAVE_UP = "saved", "step", "restarted", "gave_up"  # kinds of events
# Several processes must compute alike, and each sees only its own memory.
_ALL_CHEAPER = " with --rematerialize, then also with --accumulate"
_MOST_RESTARTS = 3  # without a new checkpoint
_CAUSES = {signal.SIGALRM: "another process ended while TensorFlow was meeting it"}
_ASKS_TO_STOP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


class TrainingDiedError(HoldfastError):
    """The process that trains died too often, or where it could not be helped."""


def supervise(
    command: Sequence[str],
    run: Path,
    tell: Callable[[str], None],
    *,
    memory_bytes: int | None = None,
) -> int:
    """Run a command that trains in a run until it ends by itself; give its exit code.

    tell hears of every restart. memory_bytes: what the training may hold (--memory). After three
    restarts without a new checkpoint it is given up: TrainingDiedError.
    """
    restarts = saved = 0  # the first restart is one, however far the training came before
    while True:
        ending = run_child(command, memory_bytes)
        if ending.code not in (None, OUT_OF_MEMORY):
            return ending.code
        _end_as_asked(ending)
        reached = _Reached.of(run)
        restarts = restarts + 1 if reached.saved <= saved else 1
        saved = reached.saved
        loss = _Loss.of(ending, reached)
        if restarts > _MOST_RESTARTS or num_workers() > 1 or ending.was_asked:
            _note(run, GAVE_UP, loss)
            raise _given_up(loss, run, ending, restarts - 1)
        _note(run, RESTARTED, loss)
        tell(str(loss))


@dataclass(frozen=True, kw_only=True)
class _Reached:
    """How far a run came."""

    step: int  # done
    saved: int  # of them; 0: no checkpoint

    @classmethod
    def of(cls, run: Path) -> _Reached:
        """Read it from the events of a run, of which there may be none yet."""
        last = {STEP: 0, SAVED: 0}
        if is_run(run):
            last |= {event.kind: event.step for event in Run.open(run).read_events()}
        return cls(step=max(last[STEP], last[SAVED]), saved=last[SAVED])


@dataclass(frozen=True, kw_only=True)
class _Loss:
    """A child that died: what killed it, and where the next one goes on."""

    cause: str  # SIGKILL, or the like
    evidence: str | None  # that memory ran out
    reached: _Reached

    @classmethod
    def of(cls, ending: Ending, reached: _Reached) -> _Loss:
        if ending.death is None:
            return cls(
                cause="out of memory", evidence="memory ran out beside a step", reached=reached
            )
        return cls(
            cause=_CAUSES.get(ending.death.signal, ending.death.signal.name),
            evidence=memory_evidence(ending.death),
            reached=reached,
        )

    def __str__(self) -> str:
        saved = self.reached.saved
        way = "in the next cheaper way" if self.evidence else "as it was"
        return f"{self.what} It is started again {way}, {_from_text(saved)}."

    @property
    def what(self) -> str:
        """Say what happened."""
        step = self.reached.step
        when = f"after step {step}" if step else "before its first step was done"
        why = f" Memory was the cause: {self.evidence}." if self.evidence else ""
        return f"The training died {when} ({self.cause}).{why}"


def _from_text(saved: int) -> str:
    return f"from the checkpoint of step {saved}" if saved else "from the beginning"


def _note(run: Path, kind: str, loss: _Loss) -> None:
    """Store in the run what happened, and that a cheaper way is to be taken.

    The event belongs to the checkpoint: what happened after it is about to be forgotten.
    """
    if not (is_chief() and is_run(run)):
        return  # it died before there was one, or another process writes it
    with Run.resume(run) as opened:
        opened.events.append(
            loss.reached.saved,
            kind,
            cause=loss.cause,
            evidence=loss.evidence,
            reached=loss.reached.step,
        )
        if loss.evidence is not None and num_workers() <= 1:
            opened.update(facts={**opened.manifest.facts, RAN_OUT: loss.evidence})


def _end_as_asked(ending: Ending) -> None:
    """Die of the same signal as a child that was asked to stop before it listened."""
    if ending.death is not None and ending.death.signal in _ASKS_TO_STOP:
        signal.signal(ending.death.signal, signal.SIG_DFL)
        os.kill(os.getpid(), ending.death.signal)


def _given_up(loss: _Loss, run: Path, ending: Ending, restarts: int) -> TrainingDiedError:
    kept = f"{run} keeps the checkpoint of step {loss.reached.saved}" if loss.reached.saved else ""
    if ending.was_asked:
        return TrainingDiedError(
            f"{loss.what} It was about to stop.", fix=f"{kept}." if kept else ""
        )
    if num_workers() > 1:
        return TrainingDiedError(
            f"{loss.what} It was one of {num_workers()} processes, and cannot go on alone.",
            fix=f"Start all of them again{_ALL_CHEAPER if loss.evidence else ''}: they resume "
            f"{_from_text(loss.reached.saved)}.",
        )
    cheaper = "Give the process more memory, or take a smaller image_resizer or network."
    crash = (
        "If it gets further now and then, a smaller --checkpoint-every lets it keep that. If it "
        "always dies at the same place, a library is at fault: try TF_ENABLE_ONEDNN_OPTS=0."
    )
    return TrainingDiedError(
        f"{loss.what} It was started again {restarts} times and reached no new checkpoint.",
        fix=" ".join(
            filter(None, [f"{kept}." if kept else "", cheaper if loss.evidence else crash])
        ),
    )
