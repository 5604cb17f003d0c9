"""Common graphics cards, and how much of their memory TensorFlow can really use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

from holdfast.errors import HoldfastError

_MIB = 2**20
# The driver's and CUDA's own part, as left out of what TensorFlow says it has in public logs.
_CONTEXT_MIB = 450
# What TensorFlow leaves to cuDNN's kernels, by the major compute capability.
_RESERVED_MIB = {3: 500, 5: 500, 6: 500, 7: 1050}
_RESERVED_SINCE_8_MIB = 1536


@dataclass(frozen=True, kw_only=True)
class Card:
    """A card without a monitor; a desktop takes up to 1 GiB more from it."""

    name: str
    total_mib: int  # as its driver reports it
    capability: int  # major compute capability

    @property
    def usable_bytes(self) -> int:
        """What TensorFlow's allocator can give out."""
        return usable_bytes(self.total_mib, self.capability)


def usable_bytes(free_mib: int, capability: int) -> int:
    """Say what TensorFlow can give out of what is free on a card."""
    reserved = _RESERVED_MIB.get(capability, _RESERVED_SINCE_8_MIB)
    return (free_mib - reserved - _CONTEXT_MIB) * _MIB


def find_card(name: str) -> Card:
    """Find a card by its name; makers' names and spaces do not matter.

    >>> find_card("NVIDIA GeForce RTX 3060").total_mib
    12288
    """
    cards = {_plain(card.name): card for card in CARDS}
    wanted = _plain(name)
    if wanted in cards:
        return cards[wanted]
    beginning = [card.name for key, card in cards.items() if wanted and key.startswith(wanted)]
    near = beginning or [cards[key].name for key in get_close_matches(wanted, cards, n=3)]
    fix = f"Write one of: {', '.join(near or [card.name for card in CARDS])}."
    raise HoldfastError(
        f"{name} is not a known card.",
        fix=f"{fix} Or give --device gpu --memory with what TensorFlow says it has at its start.",
    )


def _plain(name: str) -> str:
    """Leave of a name what tells cards apart."""
    words = re.sub(r"\b(nvidia|geforce|tesla|quadro|gpu)\b", "", name.lower())
    return re.sub(r"[^a-z0-9]", "", words)


def _cards(capability: int, **totals: int) -> list[Card]:
    return [
        Card(name=name.replace("_", " "), total_mib=total, capability=capability)
        for name, total in totals.items()
    ]


CARDS: tuple[Card, ...] = (
    *_cards(3, K80=11441),
    *_cards(5, GTX_970=4096, GTX_980=4096, GTX_980_Ti=6144, M60=8129),
    *_cards(6, P4=7680, P40=22919, P100=16280, Titan_Xp=12196),
    *_cards(6, GTX_1050_Ti=4040, GTX_1060=6078, GTX_1070=8119, GTX_1080=8119, GTX_1080_Ti=11178),
    *_cards(7, T4=15109, V100=16160, V100_32GB=32510, Titan_RTX=24220),
    *_cards(7, GTX_1650=4096, GTX_1660=6144, GTX_1660_Ti=6144),
    *_cards(7, RTX_2060=6144, RTX_2070=8192, RTX_2080=8192, RTX_2080_Ti=11264),
    *_cards(8, A2=15356, A10=23028, A10G=23028, A16=15356, A30=24258, A40=46068),
    *_cards(8, A100=40536, A100_80GB=81251, RTX_A4000=16376, RTX_A5000=24564, RTX_A6000=49140),
    *_cards(8, RTX_3050=8192, RTX_3060=12288, RTX_3060_Ti=8192, RTX_3070=8192, RTX_3070_Ti=8192),
    *_cards(8, RTX_3080=10240, RTX_3080_Ti=12288, RTX_3090=24576, RTX_3090_Ti=24564),
    *_cards(8, L4=23034, L40S=46068, RTX_4060=8188, RTX_4060_Ti=8188, RTX_4060_Ti_16GB=16380),
    *_cards(8, RTX_4070=12282, RTX_4070_Ti=12282, RTX_4080=16376, RTX_4090=24564),
    *_cards(9, H100=81559, H200=143771),
    *_cards(12, RTX_5060_Ti_16GB=16311, RTX_5070=12227, RTX_5080=16303, RTX_5090=32607),
)
