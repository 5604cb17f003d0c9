"""How the commands of `holdfast weights` name weights."""

from __future__ import annotations

from typing import Annotated

import typer

NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="A name of `holdfast weights list`, a recipe, an address, or an archive or folder on "
        "this machine.",
        show_default=False,
    ),
]
