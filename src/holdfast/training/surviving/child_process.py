"""The process that trains, as its parent sees it: started, watched, told to stop, and gone."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from holdfast.memory.devices.allocation import ENVIRONMENT
from holdfast.training.surviving.memory_evidence import Death, MemorySample, count_oom_kills
from holdfast.training.surviving.supervised import SUPERVISOR_VARIABLE

_PASSED_ON = (signal.SIGINT, signal.SIGTERM)
_HEARD = (*_PASSED_ON, signal.SIGCHLD)
_SAMPLE_SECONDS = 2.0
_SAMPLES = 4  # the kernel may need seconds to take down what it killed
_KEPT_BYTES = 65536  # of what native code wrote last


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a child ended: by itself with a code, or dead."""

    code: int | None  # None: a signal killed it
    death: Death | None  # None: it ended by itself
    was_asked: bool  # to stop, by Ctrl-C or SIGTERM


def run_child(command: Sequence[str], memory_bytes: int | None = None) -> Ending:
    """Run a command until it ends; its standard input, output and error are those of this process.

    SIGTERM, and SIGINT that was sent to this process alone, are passed on. Only the main thread of
    a process may call this. memory_bytes: what the command was allowed to hold.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    try:
        with _Messages() as messages:
            child = _Child(_started(command, messages), memory_bytes=memory_bytes)
            status = child.wait()
        return child.ending(status, messages.text())
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _started(command: Sequence[str], messages: _Messages) -> int:
    """Start the command; freed memory goes back to the system, unless the user wants otherwise.

    Linux' C library keeps freed blocks for itself, and reads its settings when a process starts.
    """
    supervised = {SUPERVISOR_VARIABLE: str(messages.writing)}
    process = os.posix_spawn(
        sys.executable,
        list(command),
        dict(ENVIRONMENT) | os.environ | supervised,
        setsigmask=(),
    )
    messages.begin()
    return process


class _Messages:
    """What native code of the child writes to standard error: passed on, and its end kept.

    Python's own messages do not come here: they go to the terminal itself.
    """

    def __init__(self) -> None:
        self._reading, self.writing = os.pipe()
        os.set_inheritable(self.writing, True)
        self._kept = b""
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> _Messages:
        return self

    def __exit__(self, *_: object) -> None:
        """Take in the rest. A process that the child left behind may still hold the other end."""
        if self._thread.is_alive():
            self._thread.join(timeout=1.0)

    def begin(self) -> None:
        """Listen, now that the child has the other end."""
        os.close(self.writing)
        self._thread.start()

    def text(self) -> str:
        """Give the end of what came so far."""
        return self._kept.decode(errors="replace")

    def _read(self) -> None:
        while block := os.read(self._reading, _KEPT_BYTES):
            os.write(2, block)
            self._kept = (self._kept + block)[-_KEPT_BYTES:]
        os.close(self._reading)


@dataclass
class _Child:
    process: int
    memory_bytes: int | None
    samples: deque[MemorySample] = field(default_factory=lambda: deque(maxlen=_SAMPLES))
    was_asked: bool = False
    peak_bytes: int = 0

    def wait(self) -> int:
        """Wait for its end, looking at memory from time to time; give its status."""
        while True:
            self.samples.append(MemorySample.take(self.process))
            heard = signal.sigtimedwait(_HEARD, _SAMPLE_SECONDS)
            # After a pause (Ctrl-Z and fg) longer than the time to wait, Python gives a signal that
            # never was, of any number.
            if heard is not None and heard.si_signo in _PASSED_ON:
                self._pass_on(heard)
            ended, status, usage = os.wait4(self.process, os.WNOHANG)
            if ended:
                self.peak_bytes = usage.ru_maxrss * 1024
                return status

    def _pass_on(self, heard: signal.struct_siginfo) -> None:
        self.was_asked = True
        # A terminal sends Ctrl-C to all its processes: the child has it already.
        is_from_terminal = heard.si_signo == signal.SIGINT and heard.si_code > 0
        if not is_from_terminal:
            os.kill(self.process, heard.si_signo)

    def ending(self, status: int, messages: str) -> Ending:
        """Say how it ended."""
        if os.WIFEXITED(status):
            return Ending(code=os.WEXITSTATUS(status), death=None, was_asked=self.was_asked)
        death = Death(
            signal=signal.Signals(os.WTERMSIG(status)),
            peak_bytes=self.peak_bytes,
            messages=messages,
            before=self.samples[0],
            last=self.samples[-1],
            oom_kills=count_oom_kills(),
            memory_bytes=self.memory_bytes,
        )
        return Ending(code=None, death=death, was_asked=self.was_asked)
