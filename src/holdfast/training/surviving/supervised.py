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
