"""The `holdfast` command: its options for all commands, and how errors reach the user."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from holdfast.cli.check import check
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
app.command()(check)


def main() -> None:
    """Run the command; errors become one readable message and exit code 2."""
    try:
        app()
    except HoldfastError as error:
        if "--debug" in sys.argv:
            raise
        from holdfast.cli.terminal import print_error

        print_error(error)
        sys.exit(2)


@app.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    if show_version:
        from importlib.metadata import version

        typer.echo(version("holdfast"))
        raise typer.Exit()
