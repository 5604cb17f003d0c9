"""The `holdfast` command: its options for all commands, and how errors reach the user."""

from __future__ import annotations

import io
import sys
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated

import typer

from holdfast.cli.adapt.adapt_command import adapt
from holdfast.cli.check.check_command import check
from holdfast.cli.cloud.cloud_group import cloud
from holdfast.cli.compare_command import compare
from holdfast.cli.convert_command import convert
from holdfast.cli.demo_command import demo
from holdfast.cli.doctor.doctor_command import doctor
from holdfast.cli.evaluate_command import evaluate
from holdfast.cli.export_command import export
from holdfast.cli.help_page import CommandHelp, GroupHelp
from holdfast.cli.inspect.inspect_command import inspect
from holdfast.cli.new.new_command import new
from holdfast.cli.plan.plan_command import plan
from holdfast.cli.predict_command import predict
from holdfast.cli.profile.profile_command import profile
from holdfast.cli.quiet import library_noise_caught
from holdfast.cli.replay_command import replay
from holdfast.cli.search.search_command import search
from holdfast.cli.train.train_command import train
from holdfast.cli.weights.weights_group import weights
from holdfast.errors import HoldfastError
from holdfast.store.store_errors import tensorflow_error

app = typer.Typer(
    name="holdfast",
    cls=GroupHelp,
    help="Train object detectors from pipeline.config files, and make the training hold.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_LOOKS_AT_IMAGES = {
    "adapt",
    "inspect",
    "convert",
    "new",
    "doctor",
    "predict",
    "export",
    "compare",
}  # and names those that are damaged

_GROUPS: dict[str, tuple[Callable[..., None], ...]] = {
    "Start": (new, convert, demo),
    "Look": (check, inspect, plan, doctor),
    "Train": (train, evaluate, adapt, search, profile, replay),
    "Use": (export, predict, compare),
}
for _group, _commands in _GROUPS.items():
    for _command in _commands:
        app.command(cls=CommandHelp, rich_help_panel=_group)(_command)
app.add_typer(weights, rich_help_panel="Start")
app.add_typer(cloud, rich_help_panel="Cloud")


def main() -> None:
    """Run the command; errors become one readable message and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal or file may know no arrows
    arguments = sys.argv[1:]
    command = next((each for each in arguments if not each.startswith("-")), "")
    is_quiet = command in _LOOKS_AT_IMAGES and "--debug" not in arguments
    try:
        with library_noise_caught() if is_quiet else nullcontext():
            app([each for each in arguments if each != "--debug"])  # it may stand anywhere
    except (HoldfastError, OSError) as error:
        if "--debug" in arguments:
            traceback.print_exc()
        else:
            from holdfast.cli.terminal import print_error

            print_error(error if isinstance(error, HoldfastError) else _of_system(error))
        sys.exit(2)
    except Exception as error:
        problem = tensorflow_error(error)  # of a store, in the middle of reading
        if problem is None or "--debug" in arguments:
            raise
        from holdfast.cli.terminal import print_error

        print_error(problem)
        sys.exit(2)
    except SystemExit as ended:
        if _is_interrupt(ended):
            print("Stopped.", file=sys.stderr)
        raise


def _is_interrupt(ended: SystemExit) -> bool:
    """Tell whether Ctrl-C ended a command that did not answer it; typer says nothing then."""
    return isinstance(getattr(ended.__context__, "__cause__", None), KeyboardInterrupt)


def _of_system(error: OSError) -> HoldfastError:
    """Say what the system refused: a full disk, a missing permission, a name that is too long."""
    name = f"{error.filename}: " if error.filename else ""
    return HoldfastError(
        f"{name}{error.strerror or error}.", fix="--debug shows where it happened."
    )


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
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    pass
