"""The GPUs of this machine as their driver lists them, and which of them a process may use."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.memory.devices.cards import usable_bytes

_FIELDS = "index,uuid,name,memory.free,compute_cap"
_NEWEST = 99  # of an unknown card, TensorFlow is taken to keep as much as it keeps of the newest


@dataclass(frozen=True, kw_only=True)
class InstalledGpu:
    """A GPU, with what others leave of its memory."""

    index: int  # in the order of the PCI bus
    uuid: str
    name: str
    free_mib: int | None  # None: the driver does not say, as for memory shared with the host
    capability: int | None  # major compute capability; None: the driver does not say

    @property
    def usable_bytes(self) -> int | None:
        """What TensorFlow's allocator can give out now; None if that is not known."""
        if self.free_mib is None:
            return None
        return usable_bytes(self.free_mib, self.capability or _NEWEST)


def installed_gpus() -> tuple[InstalledGpu, ...]:
    """Ask the driver; () without one, or without a GPU."""
    asked = ["nvidia-smi", f"--query-gpu={_FIELDS}", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(_read(answer.stdout))


def visible_gpus(
    gpus: Sequence[InstalledGpu], visible: str | None, order: str
) -> tuple[InstalledGpu, ...]:
    """Choose the GPUs that CUDA_VISIBLE_DEVICES names; None: all.

    It names them by number or by the beginning of their UUID, and ends before the first name that
    is wrong. Numbers follow the driver's list where CUDA_DEVICE_ORDER is PCI_BUS_ID, or where all
    GPUs are alike. Else CUDA counts from the fastest on, by a measure of its own: a number may then
    mean any of them, and all are given.
    """
    if visible is None:
        return tuple(gpus)
    is_listed_in_order = order == "PCI_BUS_ID" or len({gpu.name for gpu in gpus}) < 2
    chosen: dict[int, InstalledGpu] = {}
    for name in visible.split(","):
        meant = _named(gpus, name.strip())
        if not meant:
            break
        by_number = name.strip().isdigit()
        chosen |= {
            gpu.index: gpu for gpu in (meant if is_listed_in_order or not by_number else gpus)
        }
    return tuple(chosen.values())


def _named(gpus: Sequence[InstalledGpu], name: str) -> list[InstalledGpu]:
    if name.isdigit():
        return [gpu for gpu in gpus if gpu.index == int(name)]
    # A part of a GPU (MIG) is named by the GPU's UUID too, in its old form MIG-GPU-….
    start = name.removeprefix("MIG-").partition("/")[0]
    return [gpu for gpu in gpus if start.startswith("GPU-") and gpu.uuid.startswith(start)]


def _read(answer: str) -> Iterator[InstalledGpu]:
    for line in answer.splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != 5 or not fields[0].isdigit():
            continue  # a remark of the driver
        index, uuid, name, free, capability = fields
        yield InstalledGpu(
            index=int(index),
            uuid=uuid,
            name=name,
            free_mib=_whole(free),
            capability=_whole(capability),
        )


def _whole(text: str) -> int | None:
    """Read the whole part of a number; None for what a driver writes instead, such as [N/A]."""
    whole = text.partition(".")[0]
    return int(whole) if whole.isdigit() else None
