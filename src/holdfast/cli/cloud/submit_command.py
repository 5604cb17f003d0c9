"""`holdfast cloud submit`: write a job, show the command that starts it, and run it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.cloud.cloud_options import (
    IMAGE,
    REGION,
    CardOption,
    CardsOption,
    CheckpointOption,
    ImageOption,
    OnOption,
    RegionOption,
    ReplaceOption,
    RunOption,
    SpotOption,
    WorkersOption,
)
from holdfast.cli.options import ConfigArgument


class SubmittedKind(StrEnum):
    """What can start a job."""

    VERTEX = "vertex"
    KUBERNETES = "kubernetes"
    SLURM = "slurm"


def submit(
    config: ConfigArgument,
    on: OnOption,
    run: RunOption,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the files.")],
    kind: Annotated[
        SubmittedKind, typer.Option("--for", metavar="KIND", help="vertex, kubernetes or slurm.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Start it without asking.")] = False,
    image: ImageOption = IMAGE,
    workers: WorkersOption = 1,
    card: CardOption = None,
    cards: CardsOption = None,
    region: RegionOption = REGION,
    spot: SpotOption = False,
    checkpoint_every: CheckpointOption = 500,
    replace: ReplaceOption = False,
) -> None:
    """Write a job as `cloud job` does, show the command that starts it, ask, and run it.

    The image has to be in its registry already; the commands that put it there are shown by
    `holdfast cloud job`. `holdfast cloud check` finds what would make the job fail.

    Exit code: 0 started, 1 not started or refused, 2 the command, a file or the config is wrong.

    Example: `holdfast cloud submit a.config --for slurm --on g2-standard-8 --run /runs/1 --out job`
    """
    from rich.text import Text

    from holdfast.cli.terminal import console
    from holdfast.cloud.job_request import read_request
    from holdfast.cloud.machine_types import find_machine
    from holdfast.cloud.submit_job import submit_job
    from holdfast.cloud.write_job import JobKind, write_job

    request = read_request(
        config,
        machine=find_machine(on, card, cards),
        workers=workers,
        run=run,
        image=image,
        region=region,
        checkpoint_every=checkpoint_every,
        is_spot=spot,
    )
    written = write_job(request, JobKind(kind.value), out, replaces=replace)
    command = written.commands[kind.value][-1]
    terminal = console()
    terminal.print(Text(command, style="cyan"), soft_wrap=True)
    if not yes and not typer.confirm("Start it? It may cost money", default=False):
        terminal.print("Nothing was started; the files stay.")
        raise typer.Exit(1)
    code = submit_job(command)
    if code:
        terminal.print(Text(f"It was refused: the command ended with code {code}.", style="red"))
        raise typer.Exit(1)
