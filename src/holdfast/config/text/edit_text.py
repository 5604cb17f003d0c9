"""Change single fields in the text of a config; comments, order and style of the rest stay."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from holdfast.config.text.encode import field_lines
from holdfast.config.text.tokens import Token, TokenKind, tokenize

_CLOSING = {"{": "}", "<": ">"}
_STEP = re.compile(r"(\w+)(?:\[(\d+)\])?")


def edit_field(text: str, path: str, value: Any) -> str:
    r"""Set the field at a path, such as `eval_input_reader[0].label_map_path`, in a valid text.

    A tuple is a whole list, None unsets the field. A field that is not there yet comes last in its
    block.

    >>> text = 'train_config {  # as published\n  batch_size: 24\n}\n'
    >>> print(edit_field(text, "train_config.batch_size", 8), end="")
    train_config {  # as published
      batch_size: 8
    }
    """
    block = _Reader(text).root
    steps = [_Place(name, int(key) if key else None) for name, key in _STEP.findall(path)]
    for depth, (name, key) in enumerate(steps[:-1]):
        blocks = [inner for each in block.named(name) for inner in each.blocks]
        index = key or 0
        if index >= len(blocks):
            lines = _nested(steps[depth:], value)
            return _added(text, block, lines) if value is not None else text
        block = blocks[index]
    return _edited(text, block, steps[-1], value)


class _Place(NamedTuple):
    name: str
    element: int | None  # its number in a list


@dataclass
class _Block:
    """What stands between two brackets, or in the whole text; offsets into it."""

    start: int  # behind the opening bracket
    end: int = 0  # of the closing one
    fields: list[_Field] = field(default_factory=list)

    def named(self, name: str) -> list[_Field]:
        return [each for each in self.fields if each.name == name]


@dataclass
class _Field:
    """A name and what was written behind it; offsets into the text."""

    name: str
    start: int
    end: int = 0  # behind the value, and the comma or semicolon that follows it
    value: tuple[int, int] = (0, 0)  # of a single scalar
    blocks: list[_Block] = field(default_factory=list)


class _Reader:
    """Finds where fields begin and end; the text is known to be valid."""

    def __init__(self, text: str) -> None:
        self.shift = len(text) - len(text.removeprefix("\ufeff"))
        lines = text[self.shift :].split("\n")
        self.starts = [self.shift]
        for line in lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.tokens = list(tokenize(text[self.shift :]))
        self.index = 0
        self.root = self._block(self.shift, "")
        self.root.end = len(text)

    def _block(self, start: int, closing: str) -> _Block:
        block = _Block(start)
        while self.index < len(self.tokens) and self.tokens[self.index].text != closing:
            block.fields.append(self._field())
        if self.index < len(self.tokens):
            block.end = self._offset(self.tokens[self.index])
            self.index += 1
        return block

    def _field(self) -> _Field:
        first = self._take()
        found = _Field(first.text, self._offset(first))
        if first.text == "[":  # the name of an extension
            while self._take().text != "]":
                pass
        if self._peek() == ":":
            self.index += 1
        self._value(found)
        found.end = self._behind()
        if self._peek() in (",", ";"):
            self.index += 1
            found.end = self._behind()
        return found

    def _value(self, found: _Field) -> None:
        token = self._take()
        if token.text in _CLOSING:
            behind = self._offset(token) + 1
            found.blocks.append(self._block(behind, _CLOSING[token.text]))
        elif token.text == "[":
            while self._peek() != "]":
                self._value(found)
                if self._peek() == ",":
                    self.index += 1
            self.index += 1
        else:
            start = self._offset(token)
            while token.kind == TokenKind.STRING and self._peek()[:1] in ("'", '"'):
                self.index += 1  # adjacent texts are one
            found.value = start, self._behind()

    def _take(self) -> Token:
        self.index += 1
        return self.tokens[self.index - 1]

    def _peek(self) -> str:
        return self.tokens[self.index].text if self.index < len(self.tokens) else ""

    def _offset(self, token: Token) -> int:
        return self.starts[token.position.line - 1] + token.position.column - 1

    def _behind(self) -> int:
        last = self.tokens[self.index - 1]
        return self._offset(last) + len(last.text)


def _edited(text: str, block: _Block, place: _Place, value: Any) -> str:
    found = block.named(place.name)
    if place.element is not None:  # one that is written in brackets stays as it is
        is_alone = all(len(each.blocks) <= 1 for each in found)
        found = found[place.element : place.element + 1] if is_alone else []
    if value is None:
        return _without(text, found)
    lines = _lines(place.name, value)
    if not found:
        return _added(text, block, lines)
    first = found[0]
    is_scalar = first.value != (0, 0) and len(lines) == 1 and not first.blocks
    if len(found) == 1 and is_scalar:
        start, end = first.value
        return text[:start] + lines[0].partition(": ")[2] + text[end:]
    text = _without(text, found[1:])
    margin = _margin(text, first.start)
    return text[: first.start] + f"\n{margin}".join(lines) + text[first.end :]


def _added(text: str, block: _Block, lines: Sequence[str]) -> str:
    """Write lines behind the last field of a block."""
    if block.fields:
        last = block.fields[-1]
        margin, place = _margin(text, last.start), _end_of_line(text, last.end)
        inserted = "".join(f"\n{margin}{line}" for line in lines)
        return text[:place] + inserted + text[place:]
    margin = _margin(text, block.start)
    inserted = "".join(f"\n{margin}  {line}" for line in lines)
    return text[: block.start] + inserted + f"\n{margin}" + text[block.end :]


def _without(text: str, fields: Iterable[_Field]) -> str:
    """Leave fields out, and the lines that they alone stand on."""
    for each in sorted(fields, key=lambda one: -one.start):
        start, end = each.start, each.end
        before = text.rfind("\n", 0, start) + 1
        after = _end_of_line(text, end)
        if not text[before:start].strip() and not text[end:after].strip():
            start, end = before, min(after + 1, len(text))
        text = text[:start] + text[end:]
    return text


def _nested(steps: Sequence[_Place], value: Any) -> list[str]:
    lines = _lines(steps[-1].name, value)
    for name, _ in reversed(steps[:-1]):
        lines = [f"{name} {{", *(f"  {line}" for line in lines), "}"]
    return lines


def _lines(name: str, value: Any) -> list[str]:
    values = value if isinstance(value, tuple) else (value,)
    return [line for each in values for line in field_lines(name, each)]


def _margin(text: str, place: int) -> str:
    """Give the space that the line of a place begins with."""
    start = text.rfind("\n", 0, place) + 1
    found = re.match(r"[ \t]*", text[start:])
    return found[0] if found else ""


def _end_of_line(text: str, place: int) -> int:
    """Give the end of a place's line if nothing but space and a comment is left of it."""
    found = re.compile(r"[ \t]*(#[^\n]*)?(?=\r?\n|\Z)").match(text, place)
    return found.end() if found else place
