"""How many channels the layers of a narrower or wider network have."""

from __future__ import annotations


def scaled(channels: int, multiplier: float, minimum: int) -> int:
    """Multiply and cut off the fraction.

    >>> scaled(32, 0.75, minimum=16), scaled(32, 0.25, minimum=16)
    (24, 16)
    """
    return max(int(channels * multiplier), minimum)


def rounded(channels: float, *, divisor: int = 8, minimum: int | None = None) -> int:
    """Take the nearest multiple of `divisor` that is not more than a tenth below `channels`.

    The least is `minimum`, which need not be a multiple, or the divisor without one.

    >>> rounded(24 * 1.4), rounded(11), rounded(5, minimum=20)
    (32, 16, 20)
    """
    least = divisor if minimum is None else minimum
    nearest = max(int(channels + divisor / 2) // divisor * divisor, least)
    return nearest + divisor if nearest < 0.9 * channels else nearest
