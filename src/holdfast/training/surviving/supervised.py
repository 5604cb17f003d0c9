"""The process that trains, as it sees itself: a child that does not outlive its parent."""

from __future__ import annotations

import io
import os
import select
import signal
import sys
import threading

# The pipe to the supervisor that native code writes to, by its number. Empty: there is no
# supervisor, nor shall there be one.
SUPERVISOR_VARIABLE = "HOLDFAST_SUPERVISOR"
_JOINED = "joined"
# A pipe to a program that started the command and that it must not outlive, by its number.
PARENT_VARIABLE = "HOLDFAST_PARENT"


def needs_supervisor() -> bool:
    """Tell whether this process is to be the parent of the one that trains."""
    return SUPERVISOR_VARIABLE not in os.environ and hasattr(signal, "sigtimedwait")


def has_supervisor() -> bool:
    """Tell whether a parent would start this process again."""
    return os.environ.get(SUPERVISOR_VARIABLE) == _JOINED


def join_supervisor() -> None:
    """Let the parent read what native code writes to standard error, and end when it ends."""
    pipe = os.environ.get(SUPERVISOR_VARIABLE)
    if not pipe or has_supervisor():
        return
    os.environ[SUPERVISOR_VARIABLE] = _JOINED  # what this process starts has no part in it
    descriptor = int(pipe)
    os.set_inheritable(descriptor, False)
    _keep_terminal()
    os.dup2(descriptor, 2)
    threading.Thread(target=_end_with_parent, args=(descriptor,), daemon=True).start()


def end_with_program() -> None:
    """End when the program ends that started this command, if it left a pipe to know it by."""
    pipe = os.environ.pop(PARENT_VARIABLE, None)
    if pipe is None:
        return
    descriptor = int(pipe)
    os.set_inheritable(descriptor, False)
    # Signals are for the main thread, which waits for them; a thread inherits what is blocked.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    threading.Thread(target=_end_with_parent, args=(descriptor,), daemon=True).start()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _keep_terminal() -> None:
    """Let Python write to where standard error went, also when file descriptor 2 goes elsewhere."""
    stream = sys.stderr
    stream.flush()
    sys.stderr = io.TextIOWrapper(
        os.fdopen(os.dup(2), "wb", 0),
        encoding=stream.encoding,
        errors="replace",
        write_through=True,
    )


def _end_with_parent(descriptor: int) -> None:
    """Wait until nobody reads from the pipe any more: the parent was killed."""
    watch = select.poll()
    watch.register(descriptor, 0)  # that the other end is closed is told without being asked for
    watch.poll()
    os.kill(os.getpid(), signal.SIGKILL)
