"""Memory that is freed goes back to the system, so that a training holds what it needs and no more.

The C library of Linux keeps freed blocks for itself, and a training that frees and allocates large
tensors of changing sizes then holds far more than is alive. It reads its settings when a process
starts: the command starts itself anew once.
"""

from __future__ import annotations

import os
import sys

_THRESHOLD = "MALLOC_MMAP_THRESHOLD_"
_BLOCK_BYTES = "65536"  # blocks from this size on are mapped one by one, and unmapped when freed


def return_freed_memory() -> None:
    """Start this process anew with the setting, unless it has one or there is none to set."""
    if _THRESHOLD in os.environ or not sys.executable or not _has_glibc():
        return
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, sys.orig_argv, os.environ | {_THRESHOLD: _BLOCK_BYTES})


def _has_glibc() -> bool:
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (AttributeError, OSError, ValueError):
        return False
