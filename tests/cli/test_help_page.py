"""`--help` is grouped, readable at 80 columns, and ends with examples."""

from __future__ import annotations

import re

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from holdfast.cli.main import app

GROUPS = {
    "Start": ["new", "convert", "demo", "weights"],
    "Look": ["check", "inspect", "plan", "doctor"],
    "Train": ["train", "evaluate", "adapt", "search", "profile", "replay"],
    "Use": ["export", "predict", "compare"],
    "Cloud": ["cloud"],
}
NAMES = [name for names in GROUPS.values() for name in names]
INNER = {"cloud": ["check", "job", "submit", "translate"], "weights": ["get", "list", "path"]}
COMMANDS = [
    *(name for name in NAMES if name not in INNER),
    *(f"{group} {name}" for group, names in INNER.items() for name in names),
]


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def shown(*arguments: str) -> list[str]:
    result = CliRunner().invoke(app, [*arguments, "--help"], prog_name="holdfast")
    assert result.exit_code == 0
    return [line.rstrip() for line in result.stdout.splitlines()]


def test_commands_are_shown_in_their_groups():
    blocks = "\n".join(shown()).split("\n\n")
    found = {
        title: [row.split()[0] for row in rows if row.startswith("  ") and row[2] != " "]
        for title, *rows in (block.splitlines() for block in blocks if block)
        if rows
    }
    assert {title: found.get(title) for title in GROUPS} == GROUPS
    assert sorted(get_command(app).commands) == sorted(NAMES)
    for group, names in INNER.items():
        assert sorted(get_command(app).commands[group].commands) == sorted(names)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_fits_into_eighty_columns_and_says_no_types(command):
    page = shown(*command.split())
    assert page[0].startswith(f"Usage: holdfast {command} ")
    examples = page.index("Examples")
    assert max(len(line) for line in page[:examples]) <= 80
    assert not re.search(r"<(str|int|bool|float|list)", "\n".join(page))


@pytest.mark.parametrize("command", COMMANDS)
def test_texts_have_most_of_the_line(command):
    page = shown(*command.split())
    rows = page[page.index("Options") + 1 : page.index("Examples") - 1]
    starts = {match.end() for row in rows if (match := re.match(r"  -\S.*?\S {2,}(?=\S)", row))}
    assert len(starts) == 1
    assert starts.pop() <= 38


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_an_example_exists(command):
    page = shown(*command.split())
    examples = page[page.index("Examples") + 1 :]
    lines = [line.strip() for line in examples if line.strip()]
    assert lines
    for line in lines:
        assert line.startswith(f"holdfast {command}")
        for option in re.findall(r"--[a-z-]+", line):
            assert any(row.lstrip().startswith(option) for row in page), option


def test_a_default_is_said_once_and_only_where_there_is_one():
    page = " ".join(" ".join(shown("convert")).split())
    assert "Share of the images used for validation. [default: 0.2]" in page
    assert "Seed of the split and the order. [default: 0]" in page
    assert "[default: None]" not in page
    assert "[default: False]" not in page


def test_a_required_option_says_so():
    assert "the data sets are merged. [required]" in " ".join(" ".join(shown("new")).split())
