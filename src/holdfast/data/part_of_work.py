"""A part of a long work on many files, so that several processes or machines can share it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from holdfast.errors import HoldfastError

Item = TypeVar("Item")


@dataclass(frozen=True)
class PartOfWork:
    """One of `count` parts; number: from 1."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def of(self, items: Sequence[Item]) -> Sequence[Item]:
        """Give the items of this part: every item is in one part.

        >>> PartOfWork(2, 3).of("abcdefg")
        'be'
        """
        return items[self.number - 1 :: self.count]


def read_part(text: str) -> PartOfWork:
    """Read a part as a user writes it.

    >>> read_part("3/16")
    PartOfWork(number=3, count=16)
    """
    found = re.fullmatch(r"\s*(\d{1,6})\s*/\s*(\d{1,6})\s*", text)
    part = PartOfWork(int(found[1]), int(found[2])) if found else PartOfWork(0, 0)
    if not 1 <= part.number <= part.count:
        raise HoldfastError(
            f"--part {text} is not a part.",
            fix="Write the number of the part, from 1, and how many there are: 3/16.",
        )
    return part
