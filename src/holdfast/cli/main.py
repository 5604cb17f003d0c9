"""The `holdfast` command: its options for all commands, and how errors reach the user."""

from __future__ import annotations

import io
import sys
import traceback
from typing import Annotated

import typer

from holdfast.cli.allocator import return_freed_memory
from holdfast.cli.check import check
from holdfast.cli.convert import convert
from holdfast.cli.demo import demo
from holdfast.cli.evaluate import evaluate
from holdfast.cli.inspect import inspect
from holdfast.cli.new import new
from holdfast.cli.plan import plan
from holdfast.cli.train import train
from holdfast.errors import HoldfastError

app = typer.Typer(
    name="holdfast",
    help="Train object detectors from pipeline.config files, and make the training hold.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
_TRAINS = {"train", "demo"}  # commands that hold much memory for long

app.command()(check)
app.command()(convert)
app.command()(demo)
app.command()(inspect)
app.command()(new)
app.command()(plan)
app.command()(train)
app.command()(evaluate)


def main() -> None:
    """Run the command; errors become one readable message and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal or file may know no arrows
    arguments = sys.argv[1:]
    if next((each for each in arguments if not each.startswith("-")), "") in _TRAINS:
        return_freed_memory()
    try:
        app([each for each in arguments if each != "--debug"])  # it may stand anywhere
    except HoldfastError as error:
        if "--debug" in arguments:
            traceback.print_exc()
        else:
            from holdfast.cli.terminal import print_error

            print_error(error)
        sys.exit(2)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("holdfast"))
        raise typer.Exit()


@app.callback()
def _options(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and stop.", callback=_print_version, is_eager=True
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    pass
