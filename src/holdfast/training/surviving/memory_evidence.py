"""Whether a process that died did so because memory ran out: what was seen from outside."""

from __future__ import annotations

import math
import resource
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from holdfast.memory.devices.device import ADDRESS_SPACE, control_groups, host_limit
from holdfast.memory.devices.host import resident_bytes
from holdfast.training.surviving.memory_signs import memory_line
from holdfast.units import bytes_text

_NEARLY = 0.9  # of a limit: what is asked for next may be more than the rest
# Stacks and blocks are taken in large pieces, and what could not be had is not counted.
_NEARLY_ALL_ADDRESSES = 0.75
_CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGKILL)


@dataclass(frozen=True, kw_only=True)
class MemorySample:
    """What could be seen of memory at a moment while the process lived."""

    oom_kills: int  # by the kernel, since the machine or the container started
    left_bytes: float  # on the machine or in the container
    address_bytes: int  # the most that the process had

    @classmethod
    def take(cls, process: int) -> MemorySample:
        """Look now; addresses are 0 where the system does not tell them."""
        return cls(
            oom_kills=count_oom_kills(),
            left_bytes=_left_bytes(),
            address_bytes=_peak_addresses(process),
        )


@dataclass(frozen=True, kw_only=True)
class Death:
    """How a process ended that did not end by itself, and what was seen of it."""

    signal: signal.Signals
    peak_bytes: int  # resident, in its whole life
    messages: str  # the last that native code wrote to standard error
    before: MemorySample  # some seconds earlier
    last: MemorySample  # while it lived
    oom_kills: int  # counted after it
    memory_bytes: int | None = None  # what it was allowed to hold (--memory)


def memory_evidence(death: Death) -> str | None:
    """Say what speaks for memory as the cause; None if nothing does."""
    line = memory_line(death.messages)
    if line is not None:
        return f"it wrote: {line}"
    if death.signal not in _CRASHES:
        return None
    if death.signal == signal.SIGKILL and death.oom_kills > death.before.oom_kills:
        return "the kernel killed a process because memory ran out"
    return next(_nearly_used_up(death), None)


def _nearly_used_up(death: Death) -> Iterator[str]:
    held, left = death.peak_bytes, death.last.left_bytes
    if held >= _NEARLY * (held + left):
        yield f"it held {bytes_text(held)}, and {bytes_text(left)} were left"
    if death.memory_bytes is not None and held >= _NEARLY * death.memory_bytes:
        yield f"it held {bytes_text(held)} of the {bytes_text(death.memory_bytes)} of --memory"
    addresses, _ = resource.getrlimit(resource.RLIMIT_AS)
    taken = death.last.address_bytes
    # Who asks for too many addresses is refused; it is not killed from outside.
    was_refused = death.signal != signal.SIGKILL and addresses != resource.RLIM_INFINITY
    if was_refused and taken >= _NEARLY_ALL_ADDRESSES * addresses:
        yield f"it had {bytes_text(taken)} of the {bytes_text(addresses)} of addresses (ulimit -v)"


def _left_bytes() -> float:
    """Say what is left for all; addresses are each process's own."""
    limit = host_limit()
    return math.inf if limit.source == ADDRESS_SPACE else limit.bytes - resident_bytes()


def count_oom_kills() -> int:
    """Count the processes that the kernel killed for memory, here and in this container."""
    counts = [_count(Path("/proc/vmstat"))]
    for folder, is_unified in control_groups():
        counts.append(_count(folder / ("memory.events" if is_unified else "memory.oom_control")))
    return sum(counts)


def _count(path: Path) -> int:
    for line in _lines(path):
        name, _, value = line.partition(" ")
        if name == "oom_kill":
            return int(value)
    return 0


def _peak_addresses(process: int) -> int:
    for line in _lines(Path(f"/proc/{process}/status")):
        if line.startswith("VmPeak:"):
            return int(line.split()[1]) * 1024
    return 0


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
