"""`holdfast plan`: how much memory a training will need, and the settings that fit."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import (
    AccumulateOption,
    ConfigArgument,
    ImportOption,
    JsonOption,
    MeasureOption,
    MemoryOption,
    Precision,
    PrecisionOption,
    RematerializeOption,
    SetOption,
    UseOption,
)

if TYPE_CHECKING:
    from rich.console import Console

    from holdfast.memory.devices.device import Device, Limit
    from holdfast.memory.plan import MemoryPlan


class DeviceName(StrEnum):
    """Where the training will run."""

    CPU = "cpu"
    GPU = "gpu"


def plan(
    config: ConfigArgument,
    memory: MemoryOption = None,
    device: Annotated[
        DeviceName | None,
        typer.Option(
            help="Where it will run. Default: a GPU, if there is one.", show_default=False
        ),
    ] = None,
    card: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help='Plan for a graphics card, such as "RTX 3060" or T4.',
            show_default=False,
        ),
    ] = None,
    precision: PrecisionOption = Precision.FLOAT32,
    accumulate: AccumulateOption = 1,
    rematerialize: RematerializeOption = False,
    measure: MeasureOption = False,
    table: Annotated[
        bool, typer.Option(help="Print the largest batch for other resolutions, too.")
    ] = True,
    assignments: SetOption = None,
    imports: ImportOption = None,
    use: UseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Predict the peak memory of a training step, item by item, before anything is trained.

    The step is traced for the worst batch of the data - its largest shape, its most boxes - and
    never run. If it does not fit, settings are searched that do, with the same batch.

    Exit code: 0 there is a way that fits, 1 nothing fits, 2 the command, a file or the config is
    wrong.

    Example: `holdfast plan pipeline.config --card "RTX 3060" --set train_config.batch_size=16`
    """
    from holdfast.cli.quiet import load_tensorflow
    from holdfast.cli.set_option import parse_assignments
    from holdfast.cli.terminal import console, error_console
    from holdfast.config.load import load_config

    terminal = error_console() if as_json else console()
    limit = device_limit_of(memory, device.value if device else None, card)
    loaded = load_config(config, parse_assignments(assignments or []), use or ())
    load_tensorflow(imports)
    from holdfast.cli.plan.plan_report import PlanPrinter, plan_document
    from holdfast.training.fitting.choice import choose_measured, fitting_of, wanted_settings
    from holdfast.training.fitting.search_process import plans_apart

    fitting = fitting_of(loaded, config.parent, limit)
    wanted = wanted_settings(loaded, precision.value, accumulate, ("all",) * rematerialize)
    printer = PlanPrinter(terminal, str(config), fitting)
    prints_table = table and not as_json
    others = fitting.other_settings(wanted) if prints_table else ()
    with plans_apart(fitting, others) as other_plans, _few_collections():
        with _working(terminal, "tracing the step, and taking real ones" if measure else "tracing"):
            choice = (
                choose_measured(fitting, wanted)
                if measure
                else fitting.choose(wanted, _silent if as_json else printer.tried)
            )
        if as_json:
            typer.echo(json.dumps(plan_document(choice), indent=1))
        else:
            printer.chosen(choice)
        if prints_table:
            with _working(terminal, "tracing other ways to compute it"):
                rows = fitting.what_fits(choice, other_plans())
            printer.what_fits(rows)
    raise typer.Exit(0 if choice.plan.fits else 1)


def device_limit_of(memory: str | None, device: Device | None, card: str | None) -> Limit:
    """Give the memory to plan for: what the options say, else what the device has left."""
    from holdfast.errors import HoldfastError
    from holdfast.memory.devices.cards import find_card
    from holdfast.memory.devices.device import CPU, GPU, Limit, device_limit
    from holdfast.units import parse_bytes

    if card is not None:
        if memory is not None or device == CPU:
            raise HoldfastError(
                "--card already says which device and how much memory.",
                fix="Give either --card, or --device and --memory.",
            )
        found = find_card(card)
        return Limit(device=GPU, bytes=found.usable_bytes, source=f"{found.name}, without monitor")
    return device_limit(device, None if memory is None else parse_bytes(memory))


def _silent(plan: MemoryPlan) -> None:
    """Print nothing: the one document comes at the end."""


@contextmanager
def _working(terminal: Console, text: str) -> Iterator[None]:
    """Show that something is being done, where someone sees it."""
    if not terminal.is_terminal:
        yield
        return
    with terminal.status(f"{text} …"):
        yield


@contextmanager
def _few_collections() -> Iterator[None]:
    """Keep Python from looking for garbage among millions of objects while it makes more of them.

    What is traced and no longer needed is collected between two traces all the same.
    """
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()
