"""Read protobuf text format into a tree with line numbers; knows the grammar, not the schema."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from holdfast.config.text.tokens import (
    BadLiteralError,
    Position,
    Token,
    TokenKind,
    literal_bytes,
    tokenize,
)
from holdfast.errors import Problem


class Scalar(NamedTuple):
    """A value that is not a block."""

    text: str  # a quoted literal decoded, anything else as written
    quoted: bool
    broken: bool  # a literal that could not be decoded; its problem is reported already
    position: Position


@dataclass
class TextBlock:
    """The fields between two brackets, or of the whole file."""

    position: Position  # of the opening bracket
    fields: list[Field] = field(default_factory=list)


@dataclass
class Field:
    """A name and what was written behind it."""

    name: str
    position: Position
    values: list[Scalar | TextBlock] = field(default_factory=list)
    separator: Position | None = None  # the colon
    bracket: Position | None = None  # the [ of a list


class TextDocument(NamedTuple):
    """What a text says, as far as it can be understood, and every break of the grammar."""

    root: TextBlock
    problems: list[Problem]


def parse(text: str) -> TextDocument:
    """Parse a whole text; never raises: what breaks the grammar is reported and stepped over.

    >>> document = parse("train_config { batch_size: 8 }")
    >>> document.root.fields[0].values[0].fields[0].values[0].text
    '8'
    """
    parser = _Parser(text)
    parser.run()
    return TextDocument(parser.root, parser.problems)


_CLOSING = {"{": "}", "<": ">", "[": "]"}
_END = Token(TokenKind.SYMBOL, "", Position(0, 0))
_SHOWN_DEPTH = 16  # deeper than any real config; keeps the work per problem bounded


@dataclass
class _Frame:
    """An open bracket: the field it belongs to, and what may stand in it."""

    owner: Field | None  # None for the file
    block: TextBlock | None  # None for a list
    opening: str
    expects_value: bool = True  # lists only


class _Parser:
    """Keeps its own stack, so that no nesting is too deep for it."""

    def __init__(self, text: str) -> None:
        self.root = TextBlock(Position(1, 1))
        self.problems: list[Problem] = []
        text = text.removeprefix("\ufeff")
        self.lines = text.split("\n")
        self.tokens = list(tokenize(text))
        self.index = 0
        self.frames = [_Frame(None, self.root, "")]
        self.dedented: Field | None = None  # the first field further left than its block

    def run(self) -> None:
        while self.index < len(self.tokens):
            if self.frames[-1].block is None:
                self._list_item()
            else:
                self._block_item()
        if len(self.frames) > 1:
            self._report_unclosed()

    # What may stand in a block: fields, and the bracket that closes it.

    def _block_item(self) -> None:
        token = self._peek()
        if token.text in ("}", ">", "]"):
            self._close(token)
        elif token.text == "[":
            self._field(self._extension_name())
        elif token.kind in (TokenKind.WORD, TokenKind.NUMBER) and token.text[0] not in "+-.":
            self.index += 1
            self._field(Field(token.text, token.position))
        else:
            self._unexpected(token, "a field name")

    def _field(self, new: Field) -> None:
        frame = self.frames[-1]
        assert frame.block is not None
        self._note_dedent(frame, new)
        frame.block.fields.append(new)
        if self._peek().text == ":":
            new.separator = self._take().position
        value = self._peek()
        if not self._starts_next_field(new, value) and self._value(new):
            return
        if new.separator is not None and self._is_stray(new.separator.line):
            self._report_stray(new, value)
            return
        self._report(
            value if value.text else self.tokens[-1],
            f"`{new.name}` (line {new.position.line}) has no value",
            f"write a value after `{new.name}:` or remove it",
            name=new.name,
        )

    def _value(self, owner: Field) -> bool:
        """Take a block, list or scalar; False if the next token starts none."""
        token = self._peek()
        if token.kind != TokenKind.SYMBOL:
            scalar = self._scalar(owner)
            self._skip_separator()
            if self._is_stray(self.tokens[self.index - 1].position.line):
                self._report_stray(owner, self._peek() if scalar.quoted else token)
                scalar = scalar._replace(broken=True)
            owner.values.append(scalar)
        elif token.text == "[" and owner.bracket is None:
            owner.bracket = self._take().position
            self.frames.append(_Frame(owner, None, "["))
        elif token.text in ("{", "<"):
            block = TextBlock(self._take().position)
            owner.values.append(block)
            self.frames.append(_Frame(owner, block, token.text))
        else:
            return False
        return True

    def _starts_next_field(self, new: Field, value: Token) -> bool:
        """Tell `num_examples:` with its value forgotten from a field whose value is a word."""
        return (
            value.kind == TokenKind.WORD
            and value.position.line > new.position.line
            and self._peek(1).text in (":", "{", "<")
        )

    def _is_stray(self, line: int) -> bool:
        """Tell whether the next token is on this line, yet neither closes nor names anything."""
        token = self._peek()
        if token.position.line != line or token.text in ("}", ">", "]", "["):
            return False
        names_field = token.kind in (TokenKind.WORD, TokenKind.NUMBER)
        return not (names_field and self._peek(1).text in (":", "{", "<", "["))

    def _report_stray(self, owner: Field, first: Token) -> None:
        """Report the rest of a line as one mistake: an unquoted path, a quote in the middle."""
        line = self.lines[first.position.line - 1]
        while self._peek().position.line == first.position.line:
            if self._peek().text == "}":
                break
            self.index += 1
        rest = line[first.position.column - 1 :].strip()
        shown = rest if len(rest) <= 60 else rest[:59] + "…"
        self._report(
            first,
            f"`{shown}` is not a value",
            "put a text in one pair of quotes, write a number alone",
            name=owner.name,
        )

    def _scalar(self, owner: Field) -> Scalar:
        first = self._take()
        if first.kind != TokenKind.STRING:
            return Scalar(first.text, quoted=False, broken=False, position=first.position)
        pieces, broken = [], False
        token = first
        while True:  # adjacent literals are one string
            try:
                pieces.append(literal_bytes(token.text))
            except BadLiteralError as error:
                broken = True
                self._report_literal(token, str(error), owner)
            if self._peek().kind != TokenKind.STRING:
                break
            token = self._take()
        try:
            text = b"".join(pieces).decode()
        except UnicodeDecodeError:
            text, broken = "", True
            self._report_literal(first, "its escapes give bytes that are not UTF-8", owner)
        return Scalar(text, quoted=True, broken=broken, position=first.position)

    def _extension_name(self) -> Field:
        """Read `[some.extension]`; no config has one, so it only has to be stepped over."""
        start = self._take()
        parts = []
        while (token := self._peek()).text not in ("]", "{", "}", "<", ">", ":", ""):
            parts.append(token.text)
            self.index += 1
        if self._peek().text == "]":
            self.index += 1
        return Field(f"[{''.join(parts)}]", start.position)

    # What may stand in a list: values with commas between them.

    def _list_item(self) -> None:
        token, frame = self._peek(), self.frames[-1]
        owner = frame.owner
        assert owner is not None
        if token.text == "]" and (not frame.expects_value or not owner.values):
            self._close(token)
        elif token.text == "," and not frame.expects_value:
            self.index += 1
            frame.expects_value = True
        elif token.text in ("}", ">", "]", ":"):
            self._report(token, f"the list of `{owner.name}` is broken here", "write [a, b, c]")
            self._close(token) if token.text == "]" else self.frames.pop()
        elif token.kind != TokenKind.SYMBOL or token.text in ("{", "<"):
            if not frame.expects_value:
                self._report(token, "a comma is missing in the list", "write [a, b, c]")
            frame.expects_value = False
            self._list_value(owner)
        else:
            self._unexpected(token, "a list value")

    def _list_value(self, owner: Field) -> None:
        if self._peek().kind == TokenKind.SYMBOL:
            self._value(owner)
        else:
            owner.values.append(self._scalar(owner))

    # Brackets.

    def _close(self, token: Token) -> None:
        self.index += 1
        frame = self.frames[-1]
        expected = _CLOSING.get(frame.opening)
        if expected is None:
            self._report(token, f"`{token.text}` closes nothing", f"remove this `{token.text}`")
            return
        if token.text != expected:
            assert frame.owner is not None
            line = frame.owner.position.line
            self._report(
                token,
                f"`{frame.owner.name} {frame.opening}` of line {line} is closed by `{token.text}`",
                f"write `{expected}`",
            )
            if token.text == "]":  # a list inside a block is never open here
                return
        self.frames.pop()
        if self.frames[-1].block is not None:
            self._skip_separator()

    def _note_dedent(self, frame: _Frame, new: Field) -> None:
        if self.dedented is None and frame.owner is not None:
            owner = frame.owner.position
            if new.position.line > owner.line and new.position.column <= owner.column:
                self.dedented = new

    def _report_unclosed(self) -> None:
        opened = [frame.owner for frame in self.frames if frame.owner is not None]
        names = ", ".join(f"`{owner.name}` (line {owner.position.line})" for owner in opened[:5])
        hint = ""
        if self.dedented is not None:
            hint = f"; by the indentation, before line {self.dedented.position.line}"
        closings = "".join(_CLOSING[frame.opening] for frame in reversed(self.frames[1:6]))
        self._report(
            self.tokens[-1],
            f"the file ends while {names}{', …' if len(opened) > 5 else ''} "
            f"{'is' if len(opened) == 1 else 'are'} still open",
            f"add the missing `{closings}`{hint}",
        )

    # Small steps.

    def _peek(self, ahead: int = 0) -> Token:
        index = self.index + ahead
        return self.tokens[index] if index < len(self.tokens) else _END

    def _take(self) -> Token:
        self.index += 1
        return self.tokens[self.index - 1]

    def _skip_separator(self) -> None:
        if self._peek().text in (",", ";"):
            self.index += 1

    def _unexpected(self, token: Token, expected: str) -> None:
        self.index += 1
        shown = token.text if len(token.text) <= 40 else token.text[:40] + "…"
        self._report(token, f"expected {expected}, found {shown!r}", f"remove or quote {shown!r}")

    def _report_literal(self, token: Token, reason: str, owner: Field) -> None:
        shown = token.text if len(token.text) <= 80 else token.text[:80] + "…"
        fix = "write the whole text between quotes, on one line"
        if "\\" in token.text:
            fix = "write the path with / instead of \\ (or double every backslash)"
        self._report(token, f"{shown} is not a valid text: {reason}", fix, name=owner.name)

    def _report(self, token: Token, message: str, fix: str, name: str = "") -> None:
        names = [frame.owner.name for frame in self.frames[-_SHOWN_DEPTH:] if frame.owner]
        path = ".".join([*names, name] if name else names)
        line, column = token.position
        self.problems.append(Problem(message=message, fix=fix, path=path, line=line, column=column))
