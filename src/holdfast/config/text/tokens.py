"""Split protobuf text format into tokens, and turn quoted literals into text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple


class Position(NamedTuple):
    """A place in a file; both numbers count from 1."""

    line: int
    column: int


class TokenKind(Enum):
    """What a token is made of."""

    WORD = "word"
    NUMBER = "number"
    STRING = "string"
    SYMBOL = "symbol"


class Token(NamedTuple):
    """One token as written, quotes included."""

    kind: TokenKind
    text: str
    position: Position


# The shapes follow protobuf's own Python reader: words and numbers are greedy, so that `1.0f`,
# `0x1F` and `-inf` are one token each, and a string ends with its line even when unterminated.
_TOKEN = re.compile(
    r"""
    (?P<space>   \s+ )
  | (?P<comment> \#[^\n]* )
  | (?P<word>    [a-zA-Z_][0-9a-zA-Z_+-]* )
  | (?P<number>  (?: [0-9+-] | \.[0-9] ) [0-9a-zA-Z_.+-]* )
  | (?P<string>  "[^"\\\n]*(?:\\.[^"\\\n]*)*(?:"|\\?(?=\n|\Z))
               | '[^'\\\n]*(?:\\.[^'\\\n]*)*(?:'|\\?(?=\n|\Z)) )
  | (?P<symbol>  . )
    """,
    re.VERBOSE,
)
_KINDS = {kind.value: kind for kind in TokenKind}


def tokenize(text: str) -> Iterator[Token]:
    """Yield every token but space and comments; each character is looked at once."""
    line, line_start = 1, 0
    for match in _TOKEN.finditer(text):
        name = match.lastgroup or ""
        if kind := _KINDS.get(name):
            yield Token(kind, match.group(), Position(line, match.start() - line_start + 1))
        elif name == "space" and (newlines := match.group().count("\n")):
            line += newlines
            line_start = text.rindex("\n", match.start(), match.end()) + 1


class BadLiteralError(ValueError):
    """A quoted literal that stands for no text."""


_SIMPLE_ESCAPES = {
    "a": b"\a",
    "b": b"\b",
    "f": b"\f",
    "n": b"\n",
    "r": b"\r",
    "t": b"\t",
    "v": b"\v",
    "\\": b"\\",
    "'": b"'",
    '"': b'"',
}
_PIECE = re.compile(
    r"""
    (?P<plain>   [^\\]+ )
  | \\(?P<octal> [0-7]{1,3} )
  | \\x(?P<hex>  [0-9a-fA-F]{1,2} )
  | \\u(?P<u>    [0-9a-fA-F]{4} )
  | \\U(?P<U>    [0-9a-fA-F]{8} )
  | \\(?P<other> .? )
    """,
    re.VERBOSE | re.DOTALL,
)


def literal_bytes(literal: str) -> bytes:
    r"""Decode one quoted literal to UTF-8 bytes.

    An unknown escape such as `\P` keeps its backslash, as in the OD API's reader: many Windows
    paths in users' configs work only because of that.

    >>> literal_bytes(r"'D:\Python\303\251'").decode()
    'D:\\Pythoné'
    """
    if len(literal) < 2 or literal[-1] != literal[0]:
        raise BadLiteralError("the closing quote is missing")
    content = literal[1:-1]
    try:
        if "\\" not in content:
            return content.encode()
        return b"".join(_piece_bytes(match) for match in _PIECE.finditer(content))
    except UnicodeEncodeError as error:
        raise BadLiteralError(
            "it contains half of a surrogate pair, which is not a character"
        ) from error


def _piece_bytes(match: re.Match[str]) -> bytes:
    kind, text = match.lastgroup, match.group(match.lastgroup or 0)
    match kind:
        case "plain":
            return text.encode()
        case "octal":
            if int(text, 8) > 255:
                raise BadLiteralError(f"\\{text} is not a byte (octal escapes end at \\377)")
            return bytes([int(text, 8)])
        case "hex":
            return bytes([int(text, 16)])
        case "u" | "U":
            if int(text, 16) > 0x10FFFF:
                raise BadLiteralError(f"\\U{text} is not a character (the last is \\U0010ffff)")
            return chr(int(text, 16)).encode()
    return _other_escape(text)


def _other_escape(character: str) -> bytes:
    match character:
        case "":
            raise BadLiteralError("the last backslash escapes the closing quote")
        case "x" | "u" | "U" | "N":
            raise BadLiteralError(f"\\{character} starts an escape sequence that is not complete")
    return _SIMPLE_ESCAPES.get(character) or b"\\" + character.encode()
