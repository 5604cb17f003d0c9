"""`holdfast weights list`: what was published, and what of it is here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.options import JsonOption

if TYPE_CHECKING:
    from holdfast.checkpoints.zoo.published_weights import PublishedWeights


def list_weights(
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT",
            help="Only those with this text in their name or recipe.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the archives of both model zoos, and Keras' classifiers.

    Weights that are in the cache already are marked as here. Those of networks that Holdfast does
    not build are listed, too, and marked.

    Example: `holdfast weights list mobilenet`
    """
    from holdfast.checkpoints.zoo.find_weights import all_weights, recipes_of

    wanted = (text or "").lower()
    found = [
        each
        for each in all_weights().values()
        if any(wanted in name for name in (each.name.lower(), *recipes_of(each)))
    ]
    if as_json:
        typer.echo(json.dumps({"weights": [_document(each) for each in found]}, indent=1))
    else:
        _print(found)
    raise typer.Exit(0 if found else 1)


def _document(weights: PublishedWeights) -> dict[str, Any]:
    from holdfast.checkpoints.zoo.find_weights import recipes_of
    from holdfast.checkpoints.zoo.weights_cache import stored_weights

    here = stored_weights(weights.name)
    return {
        "name": weights.name,
        "address": weights.address,
        "trained_on": weights.trained_on,
        "input": list(weights.sides) if weights.sides else None,
        "coco_map": weights.coco_map,
        "outputs": weights.outputs if not weights.is_classifier else None,
        "recipes": list(recipes_of(weights)),
        "built": weights.is_built,
        "path": here.checkpoint if here else None,
    }


def _print(found: Sequence[PublishedWeights]) -> None:
    from rich.text import Text

    from holdfast.cli.terminal import console

    terminal = console()
    terminal.print(Text(_row("mAP", "input", "", "name (recipe)"), style="bold"))
    for each in map(_document, found):
        score = f"{each['coco_map']:g}" if each["coco_map"] else ""
        sides = "x".join(map(str, each["input"])) if each["input"] else ""
        state = "here" if each["path"] else "" if each["built"] else "not built"
        recipes = f"  ({', '.join(each['recipes'])})" if each["recipes"] else ""
        line = Text(_row(score, sides, state, f"{each['name']}{recipes}"))
        line.stylize("" if each["built"] else "dim")
        terminal.print(line, soft_wrap=True)  # a name that is cut cannot be copied
    terminal.print("\nmAP is that on COCO, in per cent, as published.", style="dim")


def _row(score: str, sides: str, state: str, name: str) -> str:
    return f"{score:>5}  {sides:>9}  {state:<9}  {name}"
