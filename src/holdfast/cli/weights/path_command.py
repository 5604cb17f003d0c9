"""`holdfast weights path`: where fetched weights are."""

from __future__ import annotations

import json

import typer

from holdfast.cli.options import JsonOption
from holdfast.cli.weights.name_argument import NameArgument
from holdfast.errors import HoldfastError


def path(name: NameArgument, as_json: JsonOption = False) -> None:
    """Print the path of weights that were fetched, as --checkpoint takes it.

    Nothing is downloaded.

    Exit code: 0 they are here, 2 they are not.

    Example: `holdfast weights path fpnlite_320`
    """
    from holdfast.checkpoints.zoo.fetch_weights import find_stored

    stored = find_stored(name)
    if stored is None:
        raise HoldfastError(
            f"The weights {name} are not here yet.", fix=f"Run `holdfast weights get {name}`."
        )
    if as_json:
        document = {"name": stored.name, "path": stored.checkpoint, "folder": str(stored.folder)}
        typer.echo(json.dumps(document, indent=1))
    else:
        typer.echo(stored.checkpoint)
