"""`holdfast cloud job`: write what runs a training on rented machines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from holdfast.cli.options import ConfigArgument, JsonOption
from holdfast.cloud.write_job import JobKind

if TYPE_CHECKING:
    from holdfast.cloud.write_job import WrittenJob


def job(
    config: ConfigArgument,
    on: OnOption,
    run: RunOption,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the files.")],
    kind: Annotated[
        JobKind,
        typer.Option(
            "--for", metavar="KIND", help="vertex, kubernetes, slurm, docker (the image) or all."
        ),
    ] = JobKind.ALL,
    image: ImageOption = IMAGE,
    workers: WorkersOption = 1,
    card: CardOption = None,
    cards: CardsOption = None,
    region: RegionOption = REGION,
    spot: SpotOption = False,
    checkpoint_every: CheckpointOption = 500,
    replace: ReplaceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write what runs a training elsewhere: image, Vertex job, JobSet, Slurm script.

    Each comes with the commands that start it. In the job's copy of the config, gs://BUCKET paths
    become /gcs/BUCKET, where the job mounts them. Files that differ are not written over.

    Exit code: 0 written, 2 the command, a file or the config is wrong.

    Example: `holdfast cloud job pipeline.config --on g2-standard-8 --run gs://cells/one --out job`
    """
    from holdfast.cloud.job_request import read_request
    from holdfast.cloud.machine_types import find_machine
    from holdfast.cloud.write_job import write_job

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
    written = write_job(request, kind, out, replaces=replace)
    if as_json:
        document = {
            "files": [str(path) for path in written.files],
            "commands": written.commands,
            "left_out": written.left_out,
        }
        typer.echo(json.dumps(document, indent=1))
    else:
        _print(written)


def _print(written: WrittenJob) -> None:
    from rich.text import Text

    from holdfast.cli.terminal import console

    terminal = console()
    for path in written.files:
        terminal.print(Text(f"wrote {path}"), soft_wrap=True)
    for kind, commands in written.commands.items():
        terminal.print(Text(f"\n{kind}", style="bold"))
        for command in commands:
            terminal.print(Text(f"  {command}", style="cyan"), soft_wrap=True)
    for kind, reason in written.left_out.items():
        terminal.print(Text(f"\nNot for {kind}: {reason}", style="yellow"), soft_wrap=True)
