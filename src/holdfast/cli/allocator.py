"""Memory that is freed goes back to the system, so that a training holds what it needs and no more.

The C library of Linux keeps freed blocks for itself, and a training that frees and allocates blocks
of changing sizes then holds more than is alive. It reads its settings when a process starts: the
command starts itself anew once.
"""

from __future__ import annotations

import os
import sys

from holdfast.memory.allocation import ENVIRONMENT, THRESHOLD_VARIABLE


def return_freed_memory() -> None:
    """Start this process anew with the setting, unless it has one or there is none to set."""
    if THRESHOLD_VARIABLE in os.environ or not sys.executable or not _has_glibc():
        return
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, sys.orig_argv, os.environ | dict(ENVIRONMENT))


def _has_glibc() -> bool:
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (AttributeError, OSError, ValueError):
        return False
