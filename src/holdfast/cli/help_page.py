"""What `--help` shows: commands by group, options with their texts in full width, examples.

Our own, because typer's gives a third of the line to the types of the options.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

_WIDEST = 100  # longer lines are hard to read
_EXAMPLE = re.compile(r"Examples?: `([^`]+)`")


class CommandHelp(TyperCommand):
    """A command whose help is a page of this module."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the page."""
        parameters: list[Any] = self.get_params(ctx)
        arguments = [each for each in parameters if each.param_type_name == "argument"]
        options = [each for each in parameters if each.param_type_name == "option"]
        description, examples = _split_examples(self.help or "")
        usage = " ".join([ctx.command_path, *map(_argument_name, arguments), "[OPTIONS]"])
        _print(
            Text(f"Usage: {usage}", style="bold"),
            *(Text(paragraph) for paragraph in description),
            _section("Arguments", [(_argument_name(each), each.help) for each in arguments]),
            _section("Options", [(_option_names(each), _option_text(each)) for each in options]),
            _examples(examples),
        )


class GroupHelp(TyperGroup):
    """The command of commands, whose help is a page of this module."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the page."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None:
                (first, *_), _ = _split_examples(command.help or "")
                group = str(getattr(command, "rich_help_panel", None) or "Commands")
                groups.setdefault(group, []).append((name, first))
        width = max(len(name) for rows in groups.values() for name, _ in rows)
        options = [(_option_names(each), _option_text(each)) for each in self.get_params(ctx)]
        _print(
            Text(f"Usage: {ctx.command_path} COMMAND [OPTIONS]", style="bold"),
            Text(self.help or ""),
            *(_section(title, rows, width) for title, rows in groups.items()),
            _section("Options", options),
            Text(f"{ctx.command_path} COMMAND --help shows the options of a command."),
        )


def _print(*blocks: RenderableType | None) -> None:
    console = Console(highlight=False)
    console.width = min(console.width, _WIDEST)
    for block in filter(None, blocks):
        console.print(block, crop=False)
        console.print()


def _section(title: str, rows: Sequence[tuple[str, str]], width: int = 0) -> RenderableType | None:
    """Show names and their texts in two columns below a title; nothing without rows."""
    if not rows:
        return None
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True, min_width=width)
    table.add_column()
    for name, text in rows:
        table.add_row(name, Text(text or ""))
    return Group(Text(title, style="bold"), Padding(table, (0, 0, 0, 2), expand=False))


def _examples(examples: Sequence[str]) -> RenderableType | None:
    """Show each example on a line of its own, however long: it is there to be copied."""
    if not examples:
        return None
    lines = (
        Text(f"  {example}", style="cyan", no_wrap=True, overflow="ignore") for example in examples
    )
    return Group(Text("Examples", style="bold"), *lines)


def _split_examples(text: str) -> tuple[list[str], list[str]]:
    r"""Divide a docstring into its paragraphs, each as one line, and the examples among them.

    >>> _split_examples("Do it.\n\nAll of\nit.\n\nExample: `holdfast do`")
    (['Do it.', 'All of it.'], ['holdfast do'])
    """
    paragraphs = [" ".join(each.split()) for each in text.split("\n\n")]
    plain = [each.replace("`", "") for each in paragraphs if not _EXAMPLE.match(each)]
    return plain, _EXAMPLE.findall(" ".join(paragraphs))


def _argument_name(argument: Any) -> str:
    name = str(argument.metavar or argument.name.upper())
    return f"{name}..." if argument.nargs == -1 else name


def _option_names(option: Any) -> str:
    """Give an option as it is typed, e.g. `--steps N`, `--masks / --no-masks`, `-h, --help`."""
    names = ", ".join(sorted(option.opts, key=len))
    if option.secondary_opts:
        names += f" / {', '.join(option.secondary_opts)}"
    return names if option.is_flag else f"{names} {option.metavar or 'VALUE'}"


def _option_text(option: Any) -> str:
    """Give the text of an option; it ends with the default where there is one worth saying."""
    notes = []
    if option.required:
        notes.append("required")
    if not option.is_flag and option.show_default and option.default is not None:
        notes.append(f"default: {option.default}")
    return " ".join([option.help or "", *(f"[{note}]" for note in notes)])
