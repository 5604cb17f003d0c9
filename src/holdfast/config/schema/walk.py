"""Visit every set field of a message, with its path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from holdfast.config.schema.fields import FieldSpec, field_specs
from holdfast.config.schema.message import Message


class SetField(NamedTuple):
    """One value somewhere in a config; the elements of a list come one by one."""

    path: str
    owner: Message
    spec: FieldSpec
    value: Any


def walk(message: Message, path: str = "") -> Iterator[SetField]:
    """Yield the set fields, each message before its own fields."""
    for name, spec in field_specs(type(message)).items():
        if not message.has(name):
            continue
        here = f"{path}.{name}" if path else name
        for place, value in _elements(spec, getattr(message, name), here):
            yield SetField(place, message, spec, value)
            if isinstance(value, Message):
                yield from walk(value, place)


def _elements(spec: FieldSpec, value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if spec.entry is not None:
        for key, mapped in value.items():
            yield f"{path}[{key}]", mapped
    elif spec.repeated:
        for index, element in enumerate(value):
            yield f"{path}[{index}]", element
    else:
        yield path, value
