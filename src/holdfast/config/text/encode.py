"""Write messages as protobuf text format, and as the JSON form of protobuf."""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import IntEnum
from typing import Any

from holdfast.config.schema.fields import FieldSpec, field_specs
from holdfast.config.schema.message import Message


def encode(message: Message) -> str:
    r"""Write the set fields, in schema order; reading the text back gives an equal message.

    Comments and the order of fields in the file it was read from are not part of a message, and
    so are lost.

    >>> from holdfast.config.schema.train import TrainConfig
    >>> encode(TrainConfig(batch_size=8, freeze_variables=("FeatureExtractor",)))
    'batch_size: 8\nfreeze_variables: "FeatureExtractor"\n'
    """
    return "".join(f"{line}\n" for line in _lines(message))


def to_json(message: Message) -> dict[str, Any]:
    """Give the set fields in protobuf's JSON form, under their proto names."""
    return {name: _json_field(spec, getattr(message, name)) for name, spec in _set_specs(message)}


def _set_specs(message: Message) -> Iterator[tuple[str, FieldSpec]]:
    return ((name, spec) for name, spec in field_specs(type(message)).items() if message.has(name))


def _lines(message: Message) -> Iterator[str]:
    for name, spec in _set_specs(message):
        value = getattr(message, name)
        if spec.entry is not None:
            for key, mapped in value.items():
                yield from _block(name, [*field_lines("key", key), *field_lines("value", mapped)])
        else:
            for element in value if spec.repeated else (value,):
                yield from field_lines(name, element)


def field_lines(name: str, value: Any) -> Iterator[str]:
    """Write one field: a line, or of a message several."""
    if isinstance(value, Message):
        yield from _block(name, _lines(value))
    else:
        yield f"{name}: {_scalar_text(value)}"


def _block(name: str, lines: Any) -> Iterator[str]:
    yield f"{name} {{"
    for line in lines:
        yield f"  {line}"
    yield "}"


def _scalar_text(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case IntEnum():
            return value.name
        case str():
            return f'"{value.translate(_ESCAPES)}"'
    return repr(value)  # int, and float as its shortest decimal, inf or nan


_ESCAPES = {code: f"\\{code:03o}" for code in (*range(32), 127)} | {
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
    ord('"'): '\\"',
    ord("\\"): "\\\\",
}


def _json_field(spec: FieldSpec, value: Any) -> Any:
    if spec.entry is not None:
        return {str(key): _json_value(mapped) for key, mapped in value.items()}
    return [_json_value(element) for element in value] if spec.repeated else _json_value(value)


def _json_value(value: Any) -> Any:
    match value:
        case Message():
            return to_json(value)
        case IntEnum():
            return value.name
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
    return value
