"""`holdfast cloud check`: what would make a job fail, before it is paid for."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.cloud.cloud_options import (
    REGION,
    CardOption,
    CardsOption,
    CheckpointOption,
    OnOption,
    RegionOption,
    SpotOption,
    WorkersOption,
)
from holdfast.cli.options import ConfigArgument, JsonOption, SetOption

if TYPE_CHECKING:
    from holdfast.cloud.preflight.flight import Outcome


def check(
    config: ConfigArgument,
    on: OnOption,
    run: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE", help="Where the run is kept; a file is written there and removed."
        ),
    ] = None,
    workers: WorkersOption = 1,
    card: CardOption = None,
    cards: CardsOption = None,
    region: RegionOption = REGION,
    spot: SpotOption = False,
    checkpoint_every: CheckpointOption = 500,
    step_seconds: Annotated[
        float | None,
        typer.Option(min=0.001, metavar="S", help="How long a step takes, if you know it."),
    ] = None,
    time_limit: Annotated[
        float, typer.Option(min=1.0, metavar="S", help="Seconds that all of it may take.")
    ] = 60.0,
    assignments: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look for what would make a job fail: memory, files, buckets, cluster.

    Everything is looked at in one go. What only a real cloud can show is marked so, and is not
    counted as a failure.

    Exit code: 0 nothing was found, 1 a check failed, 2 the command is wrong.

    Example: `holdfast cloud check pipeline.config --on g2-standard-8 --run gs://cells/one`
    """
    from holdfast.cli.set_option import parse_assignments
    from holdfast.cloud.machine_types import find_machine
    from holdfast.cloud.preflight.flight import Flight
    from holdfast.cloud.preflight.preflight import preflight
    from holdfast.config.check_config import check_config
    from holdfast.files import shown_path

    flight = Flight(
        machine=find_machine(on, card, cards),
        report=check_config(config, parse_assignments(assignments or [])),
        workers=workers,
        run=shown_path(run) if run else None,  # gs:/cells is taken for gs://cells
        region=region,
        checkpoint_every=checkpoint_every,
        step_seconds=step_seconds,
        is_spot=spot,
        assignments=tuple(assignments or ()),
        deadline=time.monotonic() + time_limit,
    )
    outcomes = preflight(flight)
    ok = all(each.ok for each in outcomes)
    if as_json:
        typer.echo(
            json.dumps({"ok": ok, "checks": [_document(each) for each in outcomes]}, indent=1)
        )
    else:
        _print(outcomes)
    raise typer.Exit(0 if ok else 1)


def _document(outcome: Outcome) -> dict[str, object]:
    return {
        "name": outcome.name,
        "ok": outcome.ok,
        "what": outcome.what,
        "fix": outcome.fix,
        "only_a_real_cloud_can_show": outcome.is_unverified,
    }


def _print(outcomes: Sequence[Outcome]) -> None:
    from rich.text import Text

    from holdfast.cli.terminal import console

    terminal = console()
    for each in sorted(outcomes, key=lambda each: each.ok):
        mark, style = ("error", "bold red") if not each.ok else ("fine", "green")
        if each.is_unverified:
            mark, style = "only a real cloud can show", "yellow"
        terminal.print(Text(f"{mark}  ", style=style) + Text(f"{each.name}: {each.what}"))
        if each.fix:
            terminal.print(Text(f"    → {each.fix}", style="green"))
    failed = sum(not each.ok for each in outcomes)
    terminal.print(Text(f"{failed} of {len(outcomes)} checks failed", style="bold"))
