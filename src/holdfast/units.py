"""Bytes as text."""

from __future__ import annotations

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
