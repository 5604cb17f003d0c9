"""How much memory the device really has left: what other processes and containers leave of it."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from holdfast.errors import HoldfastError
from holdfast.memory.devices.host import resident_bytes
from holdfast.memory.devices.installed_gpus import installed_gpus, visible_gpus

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
    usable = visible_gpus(
        installed_gpus(),
        os.environ.get("CUDA_VISIBLE_DEVICES"),
        os.environ.get("CUDA_DEVICE_ORDER", ""),
    )
    free = [gpu.usable_bytes for gpu in usable if gpu.usable_bytes is not None]
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


def control_groups() -> Iterator[tuple[Path, bool]]:
    """Yield the folder of each control group this process is in, up to the root.

    The second value tells whether it is one of version 2, where all resources share one tree.
    """
    for line in _lines(_PROCESS / "cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root = _CGROUPS
        elif "memory" in controllers.split(","):
            root = _CGROUPS / "memory"
        else:
            continue
        # In a container the path is the host's, and its own group lies at the root.
        group = root / path.lstrip("/")
        for folder in {group, *group.parents, root}:
            yield folder, controllers == ""


def _container() -> Iterator[tuple[int, int]]:
    """Yield limit and use of each control group that this process is in, up to the root."""
    for folder, is_unified in control_groups():
        limit = _number(folder / ("memory.max" if is_unified else "memory.limit_in_bytes"))
        if limit is not None and limit < _NO_LIMIT:
            used = _number(folder / ("memory.current" if is_unified else "memory.usage_in_bytes"))
            yield limit, (used or 0) - _reclaimable(folder)


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
