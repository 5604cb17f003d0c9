"""`holdfast weights`: published weights, and those of them that are here."""

from __future__ import annotations

import typer

from holdfast.cli.help_page import CommandHelp, GroupHelp
from holdfast.cli.weights.get_command import get
from holdfast.cli.weights.list_command import list_weights
from holdfast.cli.weights.path_command import path

weights = typer.Typer(
    name="weights",
    cls=GroupHelp,
    help="List published weights, fetch them, and say where they are.",
    no_args_is_help=True,
)
weights.command("list", cls=CommandHelp)(list_weights)
for _command in (get, path):
    weights.command(cls=CommandHelp)(_command)
