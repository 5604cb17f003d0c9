"""Options that the commands of `holdfast cloud` share."""

from __future__ import annotations

from typing import Annotated

import typer

OnOption = Annotated[
    str,
    typer.Option("--on", metavar="MACHINE", help="Machine type of Google Cloud: g2-standard-8, …"),
]
CardOption = Annotated[
    str | None,
    typer.Option("--card", metavar="NAME", help="Card to attach to an n1 machine: T4, V100, P100."),
]
CardsOption = Annotated[
    int | None,
    typer.Option("--cards", min=1, metavar="N", help="How many of them. Default: 1."),
]
WorkersOption = Annotated[
    int, typer.Option("--workers", min=1, metavar="N", help="Machines that train together.")
]
RegionOption = Annotated[str, typer.Option("--region", metavar="NAME", help="Region of the job.")]
CheckpointOption = Annotated[
    int,
    typer.Option(
        min=1, metavar="N", help="Steps between checkpoints: the most to lose in a crash."
    ),
]
SpotOption = Annotated[
    bool, typer.Option("--spot", help="Use cheaper machines that may be taken away.")
]
ImageOption = Annotated[
    str,
    typer.Option(
        "--image", metavar="IMAGE", help="Name of the image, in a registry that the job reads."
    ),
]
ReplaceOption = Annotated[bool, typer.Option("--replace", help="Write over files that differ.")]
RunOption = Annotated[
    str,
    typer.Option(
        "--run",
        metavar="PLACE",
        help="Where the run is kept: gs://BUCKET/FOLDER, or a shared folder.",
    ),
]
IMAGE = "holdfast:latest"
REGION = "us-central1"
