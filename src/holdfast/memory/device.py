"""How much memory the device really has left: what other processes and containers leave of it."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from holdfast.errors import HoldfastError
from holdfast.memory.cards import usable_bytes
from holdfast.memory.host import resident_bytes

Device = Literal["cpu", "gpu"]
CPU: Device = "cpu"
GPU: Device = "gpu"
_PROCESS = Path("/proc/self")
_CGROUPS = Path("/sys/fs/cgroup")
GIVEN = "as given"
ADDRESS_SPACE = "address space of the process (ulimit -v)"
# Addresses are also taken for what is never written to: ends of blocks, stacks of threads.
_TOUCHED_SHARE = 0.8
_STACK_BYTES = 300 * 2**20
_NO_LIMIT = 2**60  # what version 1 of cgroups writes where there is none is larger than this


@dataclass(frozen=True, kw_only=True)
class Limit:
    """The memory that a training may hold, with what the process holds already."""

    device: Device
    bytes: int
    source: str  # what sets it: "free memory", "memory of the container", …


def device_limit(device: Device | None = None, memory_bytes: int | None = None) -> Limit:
    """Say how much a training may hold: what it was given, else what the device has left.

    device: by default a GPU, if there is one.
    """
    if memory_bytes is not None and device is not None:
        return Limit(device=device, bytes=memory_bytes, source=GIVEN)
    found = None if device == CPU else gpu_limit()
    if found is None and device == GPU:
        raise HoldfastError(
            "There is no GPU here whose free memory could be asked for.",
            fix="Give --memory, or --card with the name of the card to plan for.",
        )
    found = found or host_limit()
    return found if memory_bytes is None else replace(found, bytes=memory_bytes, source=GIVEN)


def host_limit() -> Limit:
    """Give the tightest of what the machine, the container and the process allow."""
    held = resident_bytes()
    tightest = min(_left(), key=lambda each: each[0], default=(_NO_LIMIT, "nothing known"))
    return Limit(device=CPU, bytes=held + max(0, tightest[0]), source=tightest[1])


def gpu_limit() -> Limit | None:
    """Give what is free on the fullest GPU that this process may use; None without one."""
    fields = "index,uuid,memory.free,compute_cap"
    asked = ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    rows = [[field.strip() for field in line.split(",")] for line in answer.stdout.splitlines()]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    chosen = None if visible is None else {name.strip() for name in visible.split(",")}
    free = [
        usable_bytes(int(mib), int(float(capability)))
        for index, uuid, mib, capability in rows
        if chosen is None or index in chosen or any(name and name in uuid for name in chosen)
    ]
    if not free:
        return None
    return Limit(device=GPU, bytes=min(free), source="free memory of the GPU")


def _left() -> Iterator[tuple[int, str]]:
    """Yield how much more this process may take, and what says so."""
    available = _field(Path("/proc/meminfo"), "MemAvailable")
    if available is not None:
        yield available, "free memory"
    for limit, used in _container():
        yield limit - used, "memory of the container"
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    held = _field(_PROCESS / "status", "VmSize")
    if space != resource.RLIM_INFINITY and held is not None:
        left = (space - held) * _TOUCHED_SHARE - _STACK_BYTES
        yield int(left), ADDRESS_SPACE


def _container() -> Iterator[tuple[int, int]]:
    """Yield limit and use of each control group that this process is in, up to the root."""
    for line in _lines(_PROCESS / "cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, limit_name, used_name = _CGROUPS, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            root = _CGROUPS / "memory"
            limit_name, used_name = "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        # In a container the path is the host's, and its own group lies at the root.
        group = root / path.lstrip("/")
        for folder in {group, *group.parents, root}:
            limit = _number(folder / limit_name)
            if limit is not None and limit < _NO_LIMIT:
                used = _number(folder / used_name) or 0
                yield limit, used - _reclaimable(folder)


def _reclaimable(group: Path) -> int:
    """Count the cached files, which the system gives up when memory is short."""
    for line in _lines(group / "memory.stat"):
        name, _, value = line.partition(" ")
        if name in ("inactive_file", "total_inactive_file"):
            return int(value)
    return 0


def _field(path: Path, name: str) -> int | None:
    """Read a line such as `VmSize:  123 kB` as bytes."""
    found = next((line for line in _lines(path) if line.startswith(f"{name}:")), None)
    return int(found.split()[1]) * 1024 if found else None


def _number(path: Path) -> int | None:
    text = "".join(_lines(path))
    return int(text) if text.isdigit() else None  # "max": no limit


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
