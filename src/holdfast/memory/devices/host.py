"""How much memory this process holds."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")
_REFERENCES = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # what Linux calls it


def resident_bytes() -> int:
    """Give the memory that the process holds now; where the system does not say, its peak.

    >>> resident_bytes() > 2**20
    True
    """
    return _status_bytes("VmRSS") or peak_bytes()


def peak_bytes() -> int:
    """Give the most memory that the process ever held."""
    return max(_peak(), *_earlier_peaks)


def count_peak_anew() -> bool:
    """Let `recent_peak_bytes` begin at what is held now; False where the system cannot do that."""
    before = _peak()
    try:
        _REFERENCES.write_text(_RESET_PEAK)
    except OSError:
        return False
    _earlier_peaks[:] = [max(before, *_earlier_peaks)]
    return True


def recent_peak_bytes() -> int:
    """Give the most memory that the process held since its peak was last counted anew."""
    return _peak()


_earlier_peaks: list[int] = [0]  # the highest before a count was begun anew


def _peak() -> int:
    peak = _status_bytes("VmHWM")
    if peak is not None:
        return peak
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def core_count() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def operation_threads() -> int:
    """Count the threads in which TensorFlow runs operations side by side."""
    wished = os.environ.get("TF_NUM_INTEROP_THREADS", "")
    return int(wished) if wished.isdigit() and int(wished) else core_count()


def _status_bytes(name: str) -> int | None:
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    found = next((line for line in lines if line.startswith(f"{name}:")), None)
    return int(found.split()[1]) * 1024 if found else None
