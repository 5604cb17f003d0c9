"""Turn the text of one value into a number, boolean or enum member, by protobuf's rules."""

from __future__ import annotations

import math
import re
import struct
from enum import IntEnum

INT32 = (-(2**31), 2**31 - 1)
UINT32 = (0, 2**32 - 1)

_OCTAL = re.compile(r"(-?)0([0-7]+)\Z")


def parse_integer(text: str, bounds: tuple[int, int]) -> int:
    """Read decimal, hexadecimal (0x) and octal (0) integers; ValueError says what is wrong."""
    octal = _OCTAL.match(text)
    try:
        value = int(f"{octal[1]}0o{octal[2]}" if octal else text, 0)
    except ValueError:
        raise ValueError("not a whole number") from None
    low, high = bounds
    if not low <= value <= high:
        raise ValueError(f"out of range: {low} to {high}")
    return value


def parse_float(text: str) -> float:
    """Read a float32, also inf, nan and a trailing f, as the shortest decimal that means it."""
    try:
        value = float(text)
    except ValueError:
        value = _suffixed_float(text)
    return shortest_float32(value)


def parse_boolean(text: str) -> bool:
    """Read the spellings that protobuf accepts."""
    match text:
        case "true" | "True" | "t" | "1":
            return True
        case "false" | "False" | "f" | "0":
            return False
    raise ValueError("neither true nor false")


def parse_enum(text: str, members: type[IntEnum]) -> IntEnum:
    """Read a member by name or number."""
    try:
        return members(int(text, 0))
    except ValueError:
        pass
    if text in members.__members__:
        return members[text]
    raise ValueError(f"not one of {', '.join(members.__members__)}")


def shortest_float32(value: float) -> float:
    """Round to float32 and name it by the fewest digits: 0.039999999105930 becomes 0.04.

    The OD API stores float32; keeping the short decimal makes configs equal whether they say 0.04
    or its float32 expansion, and prints what a person would write.
    """
    if math.isnan(value):
        return math.nan  # one object, so that equal configs compare equal
    try:
        single: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    if math.isinf(single):
        return single
    candidates = (float(f"{single:.{digits}g}") for digits in range(6, 10))
    return next(short for short in candidates if _same_float32(short, single))


def _same_float32(value: float, single: float) -> bool:
    try:
        return bool(struct.unpack("<f", struct.pack("<f", value))[0] == single)
    except OverflowError:  # 6 digits of the largest float32 round up beyond it
        return False


def _suffixed_float(text: str) -> float:
    if text[-1:] in ("f", "F"):
        for body in (text[:-1], text.rstrip("fF")):
            try:
                return float(body)
            except ValueError:
                continue
    raise ValueError("not a number")
