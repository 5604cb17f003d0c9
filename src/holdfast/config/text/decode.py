"""Turn a parsed tree into typed messages, collecting every mistake on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from holdfast.config.schema.fields import FieldSpec, Kind, MapEntry, field_specs
from holdfast.config.schema.message import Message
from holdfast.config.text.scalars import (
    INT32,
    UINT32,
    parse_boolean,
    parse_enum,
    parse_float,
    parse_integer,
)
from holdfast.config.text.text_format import Field, Scalar, TextBlock, parse
from holdfast.config.text.tokens import Position
from holdfast.errors import Problem, nearest

M = TypeVar("M", bound=Message)


class Decoded(NamedTuple, Generic[M]):
    """A message, every mistake in its text, and where each field was written.

    With problems, the message holds what could be understood.
    """

    message: M
    problems: list[Problem]
    positions: Mapping[str, Position]  # by path, e.g. eval_input_reader[0].label_map_path


def decode(text: str, message_type: type[M]) -> Decoded[M]:
    """Read a text as a message of the given type; never raises.

    >>> from holdfast.config.schema.train import TrainConfig
    >>> decode("batch_size: 8", TrainConfig).message.batch_size
    8
    """
    document = parse(text)
    decoder = Decoder(problems=document.problems)
    message = decoder.message(message_type, document.root)
    return Decoded(message, decoder.problems, decoder.positions)


# Fields that earlier versions of the OD API had and later ones refuse.
_RETIRED = {
    "batch_norm_trainable": "remove it, and set `freeze_batchnorm` in `ssd` if it was false"
}


# Looking for similar names is slow; whoever has more problems than this gave us no config at all.
_MOST_HINTS = 200


class _Parent(NamedTuple):
    """A message around the one being read, for hints about misplaced fields."""

    name: str
    specs: Mapping[str, FieldSpec]


@dataclass
class Decoder:
    """Reads blocks by the schema; problems and positions gather here."""

    problems: list[Problem] = field(default_factory=list)
    positions: dict[str, Position] = field(default_factory=dict)

    def message(
        self,
        message_type: type[M],
        block: TextBlock,
        path: str = "",
        parents: Sequence[_Parent] = (),
    ) -> M:
        """Read a block as a message; depth is bounded by the schema, not by the text."""
        specs = field_specs(message_type)
        return message_type(**self.fields(specs, block, path, parents))

    def fields(
        self,
        specs: Mapping[str, FieldSpec],
        block: TextBlock,
        path: str,
        parents: Sequence[_Parent] = (),
    ) -> dict[str, Any]:
        """Read the fields of a block by name; lists come as tuples, maps as dicts."""
        values: dict[str, Any] = {}
        chosen: dict[str, str] = {}  # oneof -> its member
        inner = (*parents, _Parent(path.rpartition(".")[2], specs))
        for entry in block.fields:
            spec = specs.get(entry.name)
            if spec is None:
                self._report_unknown(entry, path, inner)
                continue
            if spec.oneof and chosen.setdefault(spec.oneof, entry.name) != entry.name:
                self._report_second_member(entry, path, chosen[spec.oneof])
                continue
            self._field(spec, entry, join(path, spec.name), values, inner)
        for name, spec in specs.items():
            if spec.repeated and spec.entry is None and name in values:
                values[name] = tuple(values[name])
        return values

    def _field(
        self,
        spec: FieldSpec,
        entry: Field,
        path: str,
        values: dict[str, Any],
        parents: Sequence[_Parent],
    ) -> None:
        if not self._is_well_formed(spec, entry, path):
            return
        for written in entry.values:
            element = path
            if spec.repeated:
                element = f"{path}[{len(values.get(spec.name, ()))}]"
            elif spec.name in values:
                self.report(written.position, path, "it is set a second time", "keep one of them")
                continue
            value = self.value(spec, written, element, parents)
            if value is None:
                continue
            self.positions[element] = written.position
            if spec.entry is not None:
                key, mapped = value
                values.setdefault(spec.name, {})[key] = mapped
            elif spec.repeated:
                values.setdefault(spec.name, []).append(value)
            else:
                values[spec.name] = value

    def _is_well_formed(self, spec: FieldSpec, entry: Field, path: str) -> bool:
        if entry.bracket is not None and not spec.repeated:
            self.report(entry.bracket, path, "it takes one value, not a list", "remove the [ ]")
            return False
        if spec.kind != Kind.MESSAGE and entry.separator is None and entry.values:
            place = entry.bracket or entry.values[0].position
            self.report(place, path, "the colon is missing", f"write `{spec.name}: …`")
            return False
        return True

    def value(
        self,
        spec: FieldSpec,
        written: Scalar | TextBlock,
        path: str,
        parents: Sequence[_Parent] = (),
    ) -> Any:
        """Read one value, or report it and return None; a map entry gives (key, value)."""
        if spec.kind == Kind.MESSAGE:
            if isinstance(written, Scalar):
                self._report_scalar_for_block(spec, written, path)
                return None
            if spec.entry is not None:
                return self._map_entry(spec.entry, written, path, parents)
            assert spec.message is not None
            return self.message(spec.message, written, path, parents)
        if isinstance(written, TextBlock):
            self.report(
                written.position, path, "a block is not allowed here", f"write {spec.kind.value}"
            )
            return None
        return self._scalar(spec, written, path)

    def _scalar(self, spec: FieldSpec, written: Scalar, path: str) -> Any:
        if written.broken:
            return None
        if spec.kind == Kind.STRING:
            if written.quoted:
                return written.text
            shown = shorten(written.text)
            self.report(written.position, path, f"{shown} is not in quotes", f'write "{shown}"')
            return None
        if written.quoted:
            self._report_quoted(spec, written, path)
            return None
        try:
            return parse_scalar(spec, written.text)
        except ValueError as error:
            message = f"`{shorten(written.text)}` is {error}"
            self.report(written.position, path, message, _scalar_fix(spec, written.text))
            return None

    def _map_entry(
        self, entry: MapEntry, block: TextBlock, path: str, parents: Sequence[_Parent]
    ) -> tuple[Any, Any]:
        values = self.fields({"key": entry.key, "value": entry.value}, block, path, parents)
        return (
            values.get("key", _zero(entry.key)),
            values.get("value", _zero(entry.value)),
        )

    # What can be wrong.

    def report(self, position: Position, path: str, message: str, fix: str) -> None:
        """Note a problem at a place."""
        line, column = position
        self.problems.append(Problem(message=message, fix=fix, path=path, line=line, column=column))

    def _report_unknown(self, entry: Field, path: str, parents: Sequence[_Parent]) -> None:
        name = entry.name
        where = f"`{parents[-1].name}`" if parents[-1].name else "the top level"
        self.report(
            entry.position,
            join(path, shorten(name)),
            f"{where} has no field `{shorten(name)}`",
            _unknown_fix(name, parents) if len(self.problems) < _MOST_HINTS else "",
        )

    def _report_second_member(self, entry: Field, path: str, first: str) -> None:
        owner = path.rpartition(".")[2]
        fix = f"keep one of `{first}` and `{entry.name}`"
        if owner.startswith("data_augmentation_options"):
            fix = f"give `{entry.name}` a `data_augmentation_options {{ }}` block of its own"
        self.report(
            entry.position,
            join(path, entry.name),
            f"`{first}` is set already, and only one of them can be",
            fix,
        )

    def _report_scalar_for_block(self, spec: FieldSpec, written: Scalar, path: str) -> None:
        self.report(
            written.position,
            path,
            f"`{shorten(written.text)}` is where a block is expected",
            f"write `{spec.name} {{ … }}`",
        )

    def _report_quoted(self, spec: FieldSpec, written: Scalar, path: str) -> None:
        fix = f"write {spec.kind.value}"
        try:
            parse_scalar(spec, written.text)
            fix = f"write {written.text}, without quotes"
        except ValueError:
            pass
        self.report(written.position, path, f'"{shorten(written.text)}" is a text', fix)


def parse_scalar(spec: FieldSpec, text: str) -> Any:
    """Read an unquoted value by the kind of its field; ValueError says what is wrong."""
    match spec.kind:
        case Kind.BOOL:
            return parse_boolean(text)
        case Kind.INT32:
            return parse_integer(text, INT32)
        case Kind.UINT32:
            return parse_integer(text, UINT32)
        case Kind.FLOAT:
            return parse_float(text)
        case Kind.ENUM:
            assert spec.enum is not None
            return parse_enum(text, spec.enum)
    raise ValueError(f"not {spec.kind.value}")


def join(path: str, name: str) -> str:
    """Append a field name to a path."""
    return f"{path}.{name}" if path else name


def shorten(text: str, length: int = 60) -> str:
    """Cut a long text for a message."""
    return text if len(text) <= length else text[: length - 1] + "…"


def _scalar_fix(spec: FieldSpec, text: str) -> str:
    match spec.kind:
        case Kind.BOOL:
            negative = text.lower() in ("no", "off", "false", "none")
            return "write false" if negative else "write true or false"
        case Kind.ENUM:
            assert spec.enum is not None
            names = nearest(text.upper(), spec.enum.__members__)
            return f"write {names[0] if names else ' or '.join(spec.enum.__members__)}"
        case Kind.INT32 | Kind.UINT32:
            try:
                number = float(text)
            except ValueError:
                return f"write {spec.kind.value}"
            if number.is_integer() and 0 <= number < 2**31:
                return f"write {int(number)}"
    return f"write {spec.kind.value}"


def _unknown_fix(name: str, parents: Sequence[_Parent]) -> str:
    if name in _RETIRED:
        return _RETIRED[name]
    specs = parents[-1].specs
    for parent in reversed(parents[:-1]):
        if name in parent.specs:
            home = f"`{parent.name}`" if parent.name else "the top level"
            return f"it belongs to {home}: is a `}}` missing before this line?"
    for spec in specs.values():
        if spec.message is not None and name in field_specs(spec.message):
            return f"it belongs inside `{spec.name} {{ }}`"
    if similar := nearest(name, specs):
        return f"write `{similar[0]}`"
    return "remove it" if len(specs) > 12 else f"valid here: {', '.join(specs) or 'nothing'}"


def _zero(spec: FieldSpec) -> Any:
    """Give what an absent key or value of a map entry stands for."""
    if spec.message is not None:
        return spec.message()
    return "" if spec.kind == Kind.STRING else 0 if spec.kind == Kind.INT32 else 0.0
