"""Who else holds memory of this machine's GPUs, as their driver lists them."""

from __future__ import annotations

import subprocess
from typing import NamedTuple


class GpuProcess(NamedTuple):
    """A process that computes on a GPU."""

    process: int  # its id
    name: str
    used_mib: int | None  # None: the driver does not say


def gpu_processes() -> tuple[GpuProcess, ...]:
    """Ask the driver; () without one."""
    asked = [
        "nvidia-smi",
        "--query-compute-apps=pid,process_name,used_memory",
        "--format=csv,noheader,nounits",
    ]
    try:
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    return read_processes(answer.stdout)


def read_processes(answer: str) -> tuple[GpuProcess, ...]:
    r"""Read the driver's list.

    >>> read_processes("1234, /usr/bin/python3, 5120\n")
    (GpuProcess(process=1234, name='/usr/bin/python3', used_mib=5120),)
    """
    rows = [[field.strip() for field in line.split(",")] for line in answer.splitlines()]
    return tuple(
        GpuProcess(int(first), ",".join(names), int(used) if used.isdigit() else None)
        for first, *names, used in (row for row in rows if len(row) > 2)
        if first.isdigit()
    )
