"""What differs between two configs, field by field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from holdfast.runs.json_text import JsonValue

_NOT_SET = object()


def differences(before: JsonValue, after: JsonValue) -> tuple[str, ...]:
    """List the fields that differ, in the order of the first, then of the second.

    >>> differences({"train_config": {"batch_size": 8}}, {"train_config": {"batch_size": 4}})
    ('train_config.batch_size: 8 -> 4',)
    """
    old, new = dict(_fields("", before)), dict(_fields("", after))
    return tuple(
        f"{path}: {_text(old.get(path, _NOT_SET))} -> {_text(new.get(path, _NOT_SET))}"
        for path in old | new
        if old.get(path, _NOT_SET) != new.get(path, _NOT_SET)
    )


def _fields(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every value that holds no others, under its path: `eval_input_reader[0].shuffle`."""
    match value:
        case Mapping() if value or not path:
            for key, each in value.items():
                yield from _fields(f"{path}.{key}" if path else key, each)
        case Sequence() if value and not isinstance(value, str):
            for index, each in enumerate(value):
                yield from _fields(f"{path}[{index}]", each)
        case _:
            yield path, value


def _text(value: Any) -> str:
    return "not set" if value is _NOT_SET else json.dumps(value)
