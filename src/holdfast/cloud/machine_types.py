"""Machine types with their graphics cards and memory, as Google Cloud rents them.

Source of GPU and host memory: Google's price catalog of August 2026 for us-central1, GPU memory as
listed there, per GPU. The numbers of GPUs of g2-standard-12 and larger and of g4 machines, the
K80's memory, the compute capabilities and that n1 machines take 1, 2, 4 or 8 cards are general
knowledge, not looked up. Which sizes of n1 take how many cards is not checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from holdfast.errors import HoldfastError, nearest
from holdfast.memory.devices.cards import CARDS, usable_bytes

_GB = 2**30  # the catalog's GB are binary
_FIRST_CAPABILITY = (6, 0)  # TensorFlow 2.21 has code for 6.0, 7.0, 8.0 and 8.9, and PTX for 9.0
_LAST_CAPABILITY = (9, 0)


@dataclass(frozen=True, kw_only=True)
class CloudCard:
    """A graphics card of a rented machine."""

    name: str
    memory_mib: int  # nominal; what TensorFlow can use of it is less
    capability: tuple[int, int]
    vertex_name: str  # as the field acceleratorType has it

    @property
    def usable_bytes(self) -> int:
        """What TensorFlow's allocator can give out; by the driver's total where it is known."""
        known = next((card.total_mib for card in CARDS if card.name == self.name), self.memory_mib)
        return usable_bytes(min(known, self.memory_mib), self.capability[0])

    @property
    def is_too_old(self) -> bool:
        """Tell whether TensorFlow 2.21 has no code for it at all."""
        return self.capability < _FIRST_CAPABILITY

    @property
    def is_newer_than_tensorflow(self) -> bool:
        """Tell whether its kernels have to be compiled from PTX when the training starts."""
        return self.capability > _LAST_CAPABILITY


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One machine; `card` is None where it has none, or where one has to be chosen."""

    name: str
    host_gb: int
    card: CloudCard | None
    num_cards: int
    choices: tuple[str, ...] = ()  # cards that can be attached to it

    @property
    def host_bytes(self) -> int:
        """The memory of the host, of which its system needs some."""
        return self.host_gb * _GB


def find_machine(name: str, card: str | None = None, num_cards: int | None = None) -> Machine:
    """Find a machine type; card and num_cards are for those that cards are attached to (n1).

    >>> find_machine("g2-standard-8").card.name, find_machine("n1-standard-8", "T4").num_cards
    ('L4', 1)
    """
    if re.search(r"(^|-)(tpu|ct)\d|^v[2-9]p?-\d|^tpu", name.lower()):
        raise HoldfastError(
            f"{name} is a TPU, and TPUs are not supported: there is no TensorFlow 2.21 for them "
            "(tensorflow-tpu ends at 2.20).",
            fix="Choose a machine with GPUs, such as g2-standard-8.",
        )
    machine = MACHINES.get(name.lower())
    if machine is None:
        near = nearest(name.lower(), MACHINES, count=3) or ("g2-standard-8", "a2-highgpu-1g")
        raise HoldfastError(
            f"No machine type is known as {name}.", fix=f"Write one like {', '.join(near)}."
        )
    if not machine.choices:
        if card is not None or num_cards is not None:
            raise HoldfastError(
                f"{name} comes with its cards: {machine.num_cards} {_card_name(machine)}.",
                fix="Leave out --card and --cards.",
            )
        return machine
    return _with_card(machine, card, num_cards or 1)


def _with_card(machine: Machine, card: str | None, num_cards: int) -> Machine:
    known = {each.lower(): each for each in machine.choices}
    if card is None or card.lower() not in known:
        what = "has no card of its own" if card is None else f"does not take a {card}"
        raise HoldfastError(
            f"{machine.name} {what}.", fix=f"Add --card {' or --card '.join(machine.choices)}."
        )
    found = _CARDS[known[card.lower()]]
    most = _MOST_CARDS[found.name]
    taken = [number for number in (1, 2, 4, 8) if number <= most]
    if num_cards not in taken:
        raise HoldfastError(
            f"{machine.name} does not take {num_cards} {found.name}.",
            fix=f"Give --cards {' or '.join(map(str, taken))}.",
        )
    return replace(machine, card=found, num_cards=num_cards)


def _card_name(machine: Machine) -> str:
    return machine.card.name if machine.card else "GPU"


def _cards() -> Iterator[CloudCard]:
    for name, memory_mib, capability, vertex_name in (
        ("K80", 11441, (3, 7), "NVIDIA_TESLA_K80"),
        ("P100", 16384, (6, 0), "NVIDIA_TESLA_P100"),
        ("V100", 16384, (7, 0), "NVIDIA_TESLA_V100"),
        ("T4", 16384, (7, 5), "NVIDIA_TESLA_T4"),
        ("L4", 24576, (8, 9), "NVIDIA_L4"),
        ("A100", 40960, (8, 0), "NVIDIA_TESLA_A100"),
        ("A100 80GB", 81920, (8, 0), "NVIDIA_A100_80GB"),
        ("H100", 81920, (9, 0), "NVIDIA_H100_80GB"),
        ("H100 Mega", 81920, (9, 0), "NVIDIA_H100_MEGA_80GB"),
        ("H200", 144384, (9, 0), "NVIDIA_H200_141GB"),
        ("B200", 184320, (10, 0), "NVIDIA_B200"),
        ("RTX Pro 6000", 98304, (12, 0), "NVIDIA_RTX_PRO_6000"),
    ):
        yield CloudCard(
            name=name, memory_mib=memory_mib, capability=capability, vertex_name=vertex_name
        )


def _machines() -> Iterator[Machine]:
    attached = ("T4", "V100", "P100", "K80")
    for kind, sizes in (
        ("standard", {4: 15, 8: 30, 16: 60, 32: 120}),
        ("highmem", {4: 26, 8: 52, 16: 104, 32: 208}),
    ):
        for cores, host_gb in sizes.items():
            yield Machine(
                name=f"n1-{kind}-{cores}", host_gb=host_gb, card=None, num_cards=0, choices=attached
            )
    for name, card, num_cards, host_gb in _WITH_CARDS:
        yield Machine(name=name, host_gb=host_gb, card=_CARDS[card], num_cards=num_cards)


_WITH_CARDS = (
    *((f"g2-standard-{cores}", "L4", 1, cores * 4) for cores in (4, 8, 12, 16, 32)),
    *((f"g2-standard-{cores}", "L4", cores // 12, cores * 4) for cores in (24, 48, 96)),
    *((f"a2-highgpu-{count}g", "A100", count, 85 * count) for count in (1, 2, 4, 8)),
    ("a2-megagpu-16g", "A100", 16, 1360),
    *((f"a2-ultragpu-{count}g", "A100 80GB", count, 170 * count) for count in (1, 2, 4, 8)),
    *((f"a3-highgpu-{count}g", "H100", count, 234 * count) for count in (1, 2, 4, 8)),
    ("a3-megagpu-8g", "H100 Mega", 8, 1872),
    ("a3-ultragpu-8g", "H200", 8, 2952),
    ("a4-highgpu-8g", "B200", 8, 3968),
    *(
        (f"g4-standard-{cores}", "RTX Pro 6000", cores // 48, cores * 15 // 4)
        for cores in (48, 96, 192, 384)
    ),
)
_MOST_CARDS = {"T4": 4, "V100": 8, "P100": 4, "K80": 8}  # of an n1 machine
_CARDS = {card.name: card for card in _cards()}
MACHINES = {machine.name: machine for machine in _machines()}
