"""Bytes, seconds and counts as text."""

from __future__ import annotations

import re

from holdfast.errors import HoldfastError

_STEPS = ("B", "KiB", "MiB", "GiB", "TiB")


def bytes_text(count: int | float) -> str:
    """Say a number of bytes in the unit that keeps it short, with three digits.

    >>> bytes_text(512), bytes_text(1536), bytes_text(8 * 2**30), bytes_text(123456789)
    ('512 B', '1.5 KiB', '8 GiB', '118 MiB')
    """
    value, unit = float(count), 0
    while round(abs(value)) >= 1000 and unit < len(_STEPS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.3g} {_STEPS[unit]}"


def parse_bytes(text: str) -> int:
    """Read an amount of memory; GB and GiB, MB and MiB differ as they should.

    >>> parse_bytes("8GiB"), parse_bytes("1.5 GB"), parse_bytes("512 MiB"), parse_bytes("4096")
    (8589934592, 1500000000, 536870912, 4096)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?)b?|b)?\s*", text.lower())
    if found is None:
        raise HoldfastError(
            f"{text!r} is not an amount of memory.", fix="Write it like 8GiB, 500MiB or 12GB."
        )
    number, prefix, is_binary = found.groups()
    power = " kmgt".index(prefix or " ")
    return round(float(number) * float(1024 if is_binary else 1000) ** power)


def seconds_text(seconds: float) -> str:
    """Say a duration in its two largest units.

    >>> seconds_text(0.42), seconds_text(9.6), seconds_text(75), seconds_text(7400)
    ('0.42 s', '10 s', '1 min 15 s', '2 h 3 min')
    """
    if round(seconds, 1) < 1:
        return f"{seconds:.2g} s"
    rest = round(seconds)
    parts: list[str] = []
    for name, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        if count or parts:
            parts.append(f"{count} {name}" if count else "")
    return " ".join(part for part in parts[:2] if part)


def count_text(number: int, noun: str, plural: str = "") -> str:
    """Say how many there are; the plural is the noun with an s unless another is given.

    >>> count_text(1, "image"), count_text(0, "image"), count_text(2, "box", "boxes")
    ('1 image', '0 images', '2 boxes')
    """
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"
