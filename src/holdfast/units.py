"""Bytes and seconds as text."""

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
