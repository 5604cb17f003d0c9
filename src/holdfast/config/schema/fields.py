"""What a field of a message is: read off its annotation once, then looked up."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cache
from typing import Any

from holdfast.config.schema.message import Message, UInt32

# The metadata of a field that is neither read from a file nor written to one.
NOT_IN_FILES: Mapping[str, str] = {"origin": "beside the file"}


class Kind(Enum):
    """The wire kind of a value."""

    BOOL = "true or false"
    INT32 = "a whole number"
    UINT32 = "a whole number, not negative"
    FLOAT = "a number"
    STRING = "a text in quotes"
    ENUM = "one of the names"
    MESSAGE = "a block { … }"


@dataclass(frozen=True, kw_only=True)
class FieldSpec:
    """Kind, cardinality and oneof of one field."""

    name: str
    kind: Kind
    message: type[Message] | None = None
    enum: type[IntEnum] | None = None
    repeated: bool = False
    entry: MapEntry | None = None  # a map: repeated blocks of key and value
    oneof: str | None = None


@dataclass(frozen=True, kw_only=True)
class MapEntry:
    """Key and value of a map field."""

    key: FieldSpec
    value: FieldSpec


def field_specs(message: type[Message]) -> Mapping[str, FieldSpec]:
    """Describe the fields of a message by name, in the order of their declaration."""
    known: Any = message  # hashable, though the type checker doubts it
    return _field_specs(known)


@cache
def _field_specs(message: Any) -> Mapping[str, FieldSpec]:
    oneof_of = {name: oneof for oneof, names in message.oneofs.items() for name in names}
    hints = typing.get_type_hints(message, include_extras=True)
    return {
        name: _spec(name, hints[name], oneof_of.get(name))
        for name, field in message.__dataclass_fields__.items()
        if typing.get_origin(hints[name]) is not typing.ClassVar and field.metadata != NOT_IN_FILES
    }


_SCALARS = {bool: Kind.BOOL, int: Kind.INT32, float: Kind.FLOAT, str: Kind.STRING}


def _spec(name: str, hint: Any, oneof: str | None = None) -> FieldSpec:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is UInt32:
        return FieldSpec(name=name, kind=Kind.UINT32, oneof=oneof)
    if origin is Mapping:
        entry = MapEntry(key=_spec("key", arguments[0]), value=_spec("value", arguments[1]))
        return FieldSpec(name=name, kind=Kind.MESSAGE, repeated=True, entry=entry)
    if origin is tuple:
        element = _spec(name, arguments[0])
        return FieldSpec(
            name=name,
            kind=element.kind,
            message=element.message,
            enum=element.enum,
            repeated=True,
        )
    if origin is types.UnionType:
        hint = arguments[0]  # a message or None
    if hint in _SCALARS:
        return FieldSpec(name=name, kind=_SCALARS[hint], oneof=oneof)
    if issubclass(hint, IntEnum):
        return FieldSpec(name=name, kind=Kind.ENUM, enum=hint, oneof=oneof)
    return FieldSpec(name=name, kind=Kind.MESSAGE, message=hint, oneof=oneof)
