"""JSON that every reader understands, also where numbers are not finite."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)

# A loss may be NaN, which JSON lacks; protobuf's JSON spells such numbers like this.
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_text(value: JsonValue, indent: int | None = None) -> str:
    """Write a value as ASCII; without indent on one line.

    >>> to_text({"loss": float("inf"), "step": 7})
    '{"loss":"Infinity","step":7}'
    """
    separators = (",", ":") if indent is None else None
    try:
        return json.dumps(value, indent=indent, separators=separators, allow_nan=False)
    except ValueError:
        return json.dumps(_spelled(value), indent=indent, separators=separators, allow_nan=False)


def from_text(text: bytes) -> Any:
    """Read a value, with the numbers that are not finite; ValueError if it is not JSON.

    A text that is spelled like such a number becomes one.

    >>> from_text(b'{"loss":"Infinity","step":7}')
    {'loss': inf, 'step': 7}
    """
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError("The JSON is nested too deeply.") from error
    return _numbered(value) if b'NaN"' in text or b'Infinity"' in text else value


def _spelled(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case str():
            return value
        case Mapping():
            return {key: _spelled(each) for key, each in value.items()}
        case Sequence():
            return [_spelled(each) for each in value]
    return value


def _numbered(value: Any) -> Any:
    match value:
        case str():
            return _NOT_FINITE.get(value, value)
        case dict():
            return {key: _numbered(each) for key, each in value.items()}
        case list():
            return [_numbered(each) for each in value]
    return value
