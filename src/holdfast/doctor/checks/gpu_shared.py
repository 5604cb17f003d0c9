"""gpu-shared: other processes hold a part of the GPU's memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.lazy_part import MissingError
from holdfast.runs.lock import LOCK_NAME

_MUCH_MIB = 1024  # a desktop holds less


@check("gpu-shared", about="machine", needs=("gpu_processes",))
def gpu_shared(case: Case) -> Iterator[Finding]:
    """Another process computes on the GPU and holds a part of its memory.

    Why it happens: an earlier training or a notebook still runs. TensorFlow takes all memory that
    it finds, and keeps it until the process ends. What is left does not suffice, or both slow each
    other down.

    How it is seen: the driver's list of processes, without the one that trains in this run. From
    1 GiB on it is a warning.

    What helps: end the process, if it is yours and not needed any more.
    """
    own = {os.getpid(), _trainer(case)}
    others = [each for each in case.gpu_processes if each.process not in own]
    held = sum(each.used_mib or 0 for each in others)
    if held < _MUCH_MIB:
        return
    yield Finding(
        code="gpu-shared",
        severity="warning",
        what=f"{len(others)} other process{'' if len(others) == 1 else 'es'} hold {held} MiB of "
        "the GPU's memory.",
        why="What is left may not suffice, and both slow each other down.",
        evidence={
            "processes": [
                {"process": each.process, "name": each.name, "used_mib": each.used_mib}
                for each in others
            ]
        },
        fix=Fix(text="Wait for them, end those that are yours, or train on another GPU."),
    )


def _trainer(case: Case) -> int | None:
    """Give the process that trains in the run, by the run's lock."""
    with suppress(MissingError, OSError, ValueError):
        return int((case.run_path / LOCK_NAME).read_text())
    return None
