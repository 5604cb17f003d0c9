"""Replace single fields of a config by path, under the same checks as the file."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple, TypeVar

from holdfast.config.schema.fields import FieldSpec, Kind, field_specs
from holdfast.config.schema.message import Message
from holdfast.config.text.decode import Decoder, join, parse_scalar, shorten
from holdfast.config.text.text_format import parse
from holdfast.errors import Problem, nearest

M = TypeVar("M", bound=Message)


def apply_overrides(message: M, overrides: Mapping[str, Any]) -> tuple[M, list[Problem]]:
    """Set each path to its value, in order; a path that cannot be set is reported and skipped.

    A path names fields and list indices: `eval_input_reader[0].label_map_path`. The index after
    the last element appends. Messages on the way are made where they are missing, and a member of
    a oneof replaces the other member. A value is a Python value, or text as in the file (quotes
    around a text may be left out); None unsets the field, `[a, b]` replaces a list.
    """
    problems = []
    for path, value in overrides.items():
        try:
            message = _set(message, _steps(path), value, "")
        except _OverrideError as error:
            problems.append(error.problem)
    return message, problems


def split_assignment(assignment: str) -> tuple[str, str]:
    """Split `path=value`; ValueError if there is no `=`."""
    path, separator, value = assignment.partition("=")
    if not separator or not path.strip():
        raise ValueError(f"{assignment!r} is not of the form path=value")
    return path.strip(), value.strip()


class _OverrideError(Exception):
    def __init__(self, path: str, message: str, fix: str) -> None:
        super().__init__(message)
        self.problem = Problem(path=path, message=f"override: {message}", fix=fix)


class _Step(NamedTuple):
    name: str
    key: str | None  # a list index or a map key


_STEP = re.compile(r"(?P<name>\w+)(?:\[(?P<key>[^\]]*)\])?(?:\.|\Z)")


def _steps(path: str) -> list[_Step]:
    steps, position = [], 0
    while match := _STEP.match(path, position):
        steps.append(_Step(match["name"], match["key"]))
        position = match.end()
    if position != len(path) or not steps or path.endswith("."):
        raise _OverrideError(path, "is not a valid path", "write names and indices: a.b[0].c")
    return steps


def _set(message: M, steps: list[_Step], value: Any, parent: str) -> M:
    step, rest = steps[0], steps[1:]
    specs = field_specs(type(message))
    path = join(parent, step.name)
    spec = specs.get(step.name)
    if spec is None:
        similar = nearest(step.name, specs, 3)
        fix = f"did you mean {' or '.join(similar)}?" if similar else f"valid: {', '.join(specs)}"
        raise _OverrideError(path, f"there is no field `{shorten(step.name)}`", fix)
    if spec.repeated:
        new = _new_list(spec, step, rest, value, message, path)
    elif step.key is not None:
        raise _OverrideError(path, "it is not a list", f"write {path} without [{step.key}]")
    else:
        new = _new_value(spec, rest, value, getattr(message, step.name), path)
    if new is None:
        return message.without(step.name)
    others = message.oneofs[spec.oneof] if spec.oneof else ()
    return message.without(*others).replace(**{step.name: new})


def _new_value(spec: FieldSpec, rest: list[_Step], value: Any, current: Any, path: str) -> Any:
    """Give a field's new value: `value` itself, or the current message with a part replaced."""
    if rest:
        if spec.message is None:
            raise _OverrideError(path, "it has no fields", f"write {path}=…")
        changed = _set(current or spec.message(), rest, value, path)
        return None if current is None and not changed.fields_set else changed
    return _converted(spec, value, path)


def _new_list(
    spec: FieldSpec, step: _Step, rest: list[_Step], value: Any, message: Message, path: str
) -> Any:
    current = getattr(message, step.name)
    if step.key is None:
        if rest:
            raise _OverrideError(path, "it is a list", f"say which element: {path}[0]")
        return (
            _converted_map(spec, value, path) if spec.entry else _converted_list(spec, value, path)
        )
    path = f"{path}[{step.key}]"
    if spec.entry is not None:
        key = _converted(spec.entry.key, step.key, path)
        if key is None:
            raise _OverrideError(path, "the key is missing", f"give {spec.entry.key.kind.value}")
        new = _new_value(spec.entry.value, rest, value, current.get(key), path)
        return {k: v for k, v in current.items() if k != key} | ({} if new is None else {key: new})
    if not step.key.isdecimal() or int(step.key) > len(current):
        fix = f"write an index from 0 to {len(current)} ({len(current)} appends)"
        raise _OverrideError(path, f"`{step.key}` is not an index of a list of {len(current)}", fix)
    index = int(step.key)
    old = current[index] if index < len(current) else None
    new = _new_value(dataclasses.replace(spec, repeated=False), rest, value, old, path)
    return (*current[:index], *(() if new is None else (new,)), *current[index + 1 :])


def _converted_list(spec: FieldSpec, value: Any, path: str) -> Any:
    element = dataclasses.replace(spec, repeated=False)
    if isinstance(value, str):
        if spec.kind != Kind.STRING:
            return _decoded(spec, value, path) if value else None
        value = _split_texts(value)
    elif value is None:
        return None
    elif not isinstance(value, (list, tuple)):
        value = [value]
    return tuple(_converted(element, each, f"{path}[{i}]") for i, each in enumerate(value))


def _converted_map(spec: FieldSpec, value: Any, path: str) -> Any:
    assert spec.entry is not None
    if not isinstance(value, Mapping):
        return _decoded(spec, value, path) if value else None
    return {
        _converted(spec.entry.key, key, path): _converted(spec.entry.value, each, path)
        for key, each in value.items()
    }


def _converted(spec: FieldSpec, value: Any, path: str) -> Any:
    match value:
        case None:
            return None
        case Message():
            if spec.message is None or not isinstance(value, spec.message):
                wanted = spec.message.__name__ if spec.message else spec.kind.value
                raise _OverrideError(path, f"it is a {type(value).__name__}", f"give {wanted}")
            return value
        case str():
            return _converted_text(spec, value, path)
        case bool():
            text = "true" if value else "false"
        case IntEnum():
            text = value.name
        case _:
            text = repr(value)
    try:
        return parse_scalar(spec, text)
    except ValueError as error:
        message = f"`{shorten(text)}` is {error}"
        raise _OverrideError(path, message, f"give {spec.kind.value}") from None


def _converted_text(spec: FieldSpec, text: str, path: str) -> Any:
    if spec.kind == Kind.STRING and text[:1] not in ("'", '"'):
        return text
    return _decoded(spec, text, path) if text else None


def _decoded(spec: FieldSpec, text: str, path: str) -> Any:
    """Read a value written as in the file; lists and maps come with or without brackets."""
    document = parse(f"{spec.name}: {text}")
    fields = document.root.fields
    decoder = Decoder(problems=document.problems)
    values = decoder.fields({spec.name: spec}, document.root, path.rpartition(".")[0])
    if len(fields) > 1:
        fix = "write [a, b]" if spec.repeated else "give one value"
        raise _OverrideError(path, f"`{shorten(text)}` is more than one value", fix)
    if decoder.problems:
        problem = decoder.problems[0]
        raise _OverrideError(path, problem.message, problem.fix)
    return values.get(spec.name)  # None for an empty list: the field is unset


_TEXT = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^,\s][^,]*?)\s*(?:,|\Z)""")


def _split_texts(text: str) -> list[str]:
    """Split `[a, "b, c"]` into its texts; without brackets it is one text."""
    if not (text.startswith("[") and text.endswith("]")):
        return [text] if text else []
    return _TEXT.findall(text[1:-1])
