from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from holdfast.config.text.text_format import Scalar, TextBlock, TextDocument, parse
from holdfast.config.text.tokens import Position


def shape(block: TextBlock) -> list:
    """A block as nested lists of (name, value)."""
    return [
        (field.name, value.text if isinstance(value, Scalar) else shape(value))
        for field in block.fields
        for value in field.values
    ]


def only_problem(text: str) -> tuple[int, str]:
    problems = parse(text).problems
    assert len(problems) == 1, problems
    return problems[0].line, problems[0].message


@pytest.mark.parametrize(
    "text",
    [
        "a { b: 1 }",
        "a: { b: 1 }",
        "a < b: 1 >",
        "a: <b: 1>",
        "a{b:1}",
        "a { b: 1, },",
        "a { b: 1; };",
        "\ufeffa\r\n{\r\nb:\r\n1\r\n}\r\n",
        "a { # comment }\n b: 1 # more\n}",
        "a [ { b: 1 } ]",
        "a: [ < b: 1 > ]",
    ],
)
def test_every_way_to_write_a_block_means_the_same(text):
    document = parse(text)
    assert document.problems == []
    assert shape(document.root) == [("a", [("b", "1")])]


def test_lists_hold_scalars_and_blocks():
    document = parse("a: [1, 2.5, NAME] b: [] c [ { d: 1 }, < > ] e: ['x', \"y\" 'z']")
    assert document.problems == []
    assert shape(document.root) == [
        ("a", "1"),
        ("a", "2.5"),
        ("a", "NAME"),
        ("c", [("d", "1")]),
        ("c", []),
        ("e", "x"),
        ("e", "yz"),
    ]


def test_adjacent_strings_are_joined_also_across_lines_and_comments():
    document = parse("a: 'one ' # first\n   \"two \"\n 'three' b: 1")
    assert shape(document.root) == [("a", "one two three"), ("b", "1")]


def test_every_value_keeps_its_line_and_column():
    field = parse("a {\n  bc:  'x'\n}").root.fields[0]
    (block,) = field.values
    inner = block.fields[0]
    assert (field.position, block.position) == (Position(1, 1), Position(1, 3))
    assert (inner.position, inner.values[0].position) == (Position(2, 3), Position(2, 8))


def test_a_forgotten_value_is_named_at_the_token_that_stands_in_its_place():
    assert only_problem("a {\n  b:\n  c: 1\n}") == (3, "`b` (line 2) has no value")


def test_a_missing_bracket_is_placed_by_the_indentation():
    document = parse("a {\n  b {\n    c: 1\n\nd {\n  e: 1\n}\n}\n")
    (problem,) = document.problems
    assert problem.line == 8
    assert "`a` (line 1)" in problem.message
    assert "before line 5" in problem.fix


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1 }", 1, "closes nothing"),
        ("a {\n b: 1\n>", 3, "closed by `>`"),
        ("a: [1 2]", 1, "comma is missing"),
        ("a: [1,\n]", 2, "broken"),
        ("a: 'x\nb: 1", 1, "closing quote"),
        ("p: /data/train.record\nb: 1", 1, "`/data/train.record` is not a value"),
        ("p: D:\\data\\x\nb: 1", 1, "`D:\\data\\x` is not a value"),
        ("p: 'a'b'c'\nb: 1", 1, "`b'c'` is not a value"),
        ("a: 8 px\nb: 1", 1, "`8 px` is not a value"),
        ("a: 1,, b: 2", 1, "`1,, b: 2` is not a value"),
        ("= 3", 1, "expected a field name"),
        ("a:", 1, "has no value"),
        ("a", 1, "has no value"),
    ],
)
def test_a_break_of_the_grammar_is_one_problem_with_its_line(text, line, words):
    problem = parse(text).problems[0]
    assert problem.line == line
    assert words in problem.message


def test_reading_goes_on_after_a_mistake():
    document = parse("a: /x\nb { c: ] d: 1 }\ne: 2")
    assert shape(document.root)[-1] == ("e", "2")
    assert [problem.line for problem in document.problems] == [1, 2, 2]


def count_steps(run: Callable[[], object]) -> int:
    """Count the calls of Python and built-in functions."""
    steps = 0

    def count(frame, event, argument):
        nonlocal steps
        steps += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return steps


@pytest.mark.parametrize(
    "piece",
    [
        "a { b: 1 c: 'x' }\n",
        "a {",
        "a {:",
        "a: [",
        "a: [1, ",
        "}",
        "'x' ",
        "a: 'x' 'y'\n",
        "[",
        "[x",
        "# comment\n",
        "\\",
        "a: 1 2\n",
        "a:\n",
        "{ < ",
        ", ",
    ],
)
def test_the_work_is_linear_in_the_size_of_the_text(piece):
    def work(repetitions: int) -> int:
        text = piece * repetitions
        return count_steps(lambda: parse(text))

    small, large = work(500), work(2000)
    assert large <= 4.1 * small + 100


def test_no_nesting_is_too_deep():
    depth = 100_000
    document: TextDocument = parse("a {" * depth + "}" * depth)
    assert document.problems == []
    assert len(parse("a: [{" * depth).problems) == 1
