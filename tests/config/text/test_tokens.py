from __future__ import annotations

import pytest

from holdfast.config.text.tokens import (
    BadLiteralError,
    Position,
    TokenKind,
    literal_bytes,
    tokenize,
)


def texts(text: str) -> list[str]:
    return [token.text for token in tokenize(text)]


def test_numbers_words_and_symbols_are_one_token_each():
    assert texts("a:-1.5e-3f{b<0x1F>;c:[.5,+2]}") == [
        *("a", ":", "-1.5e-3f", "{", "b", "<", "0x1F", ">", ";", "c", ":"),
        *("[", ".5", ",", "+2", "]", "}"),
    ]


def test_comments_run_to_the_end_of_the_line():
    assert texts("a # b: 'x\nc#d") == ["a", "c"]


def test_positions_count_lines_and_columns_from_one_across_crlf_and_tabs():
    tokens = list(tokenize("a: 1\r\n\r\n\t b # x\n  c"))
    assert [token.position for token in tokens] == [
        Position(1, 1),
        Position(1, 2),
        Position(1, 4),
        Position(3, 3),
        Position(4, 3),
    ]


def test_a_string_ends_with_its_line():
    tokens = list(tokenize("a: \"open\nb: 'it\\'s' \"x\" "))
    assert [token.text for token in tokens if token.kind == TokenKind.STRING] == [
        '"open',
        "'it\\'s'",
        '"x"',
    ]


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        (r'"plain"', "plain"),
        (r"'single \"both\"'", 'single "both"'),
        (r'"\a\b\f\n\r\t\v\\\'\""', "\a\b\f\n\r\t\v\\'\""),
        (r'"\101\12\0"', "A\n\0"),
        (r'"\x41\x9\x7e"', "A\t~"),
        (r'"\u00e9\U0001F600"', "é😀"),
        (r'"\303\251"', "é"),
        ('"é 中"', "é 中"),
        (r'"D:\Python\data"', "D:\\Python\\data"),
        (r'"100\%\?"', "100\\%\\?"),
    ],
)
def test_escapes_are_decoded(literal, text):
    assert literal_bytes(literal).decode() == text


@pytest.mark.parametrize(
    "literal",
    [
        '"',
        '"open',
        "'mixed\"",
        r'"C:\Users\me"',
        r'"D:\xyz"',
        r'"D:\user"',
        r'"D:\New folder"',
        r'"\777"',
        r'"\Uffffffff"',
        r'"\ud800"',
        '"C:\\folder\\"',
    ],
)
def test_what_is_no_text_says_so(literal):
    with pytest.raises(BadLiteralError):
        literal_bytes(literal)
