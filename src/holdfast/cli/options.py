"""Options that several commands have, each written once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Precision(StrEnum):
    """The numbers that the network computes with."""

    FLOAT32 = "float32"
    MIXED_FLOAT16 = "mixed_float16"
    MIXED_BFLOAT16 = "mixed_bfloat16"


ConfigArgument = Annotated[Path, typer.Argument(help="The pipeline.config.", show_default=False)]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Override a field; may be repeated."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        metavar="8GiB",
        help="What the training may hold in all. Default: what the device has left.",
        show_default=False,
    ),
]
PrecisionOption = Annotated[
    Precision, typer.Option(help="Mixed ones need half the memory on GPUs that know them.")
]
AccumulateOption = Annotated[
    int, typer.Option(min=1, help="Compute each batch in so many pieces, to save memory.")
]
RematerializeOption = Annotated[
    bool, typer.Option("--rematerialize", help="Compute all blocks twice, to save memory.")
]
MeasureOption = Annotated[
    bool, typer.Option("--measure", help="First take real steps in a process of their own.")
]
