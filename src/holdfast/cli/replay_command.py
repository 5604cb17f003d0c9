"""`holdfast replay`: one step of a training, taken once more from its capsule."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import ImportOption, JsonOption

if TYPE_CHECKING:
    from rich.console import Console

    from holdfast.training.capsule.replay import Replayed


def replay(
    capsule: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A file in the capsules folder of a run.", show_default=False
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder for the pictures. Default: the file's name without its suffix.",
            show_default=False,
        ),
    ] = None,
    imports: ImportOption = None,
    as_json: JsonOption = False,
) -> None:
    """Rerun a step that `holdfast train` kept, and show where its loss comes from.

    A capsule is written when a loss is not a number or jumps, when memory runs out, or for
    `train --capsule-at STEP`. It holds the batch, the weights and the config: neither the data nor
    the run is needed. Weights are not moved.

    Exit code: 0 the losses are those that were recorded, to the last bit, 1 they are not, 2 the
    file is not a capsule.

    Example: `holdfast replay runs/one/capsules/step-00000500-requested.capsule`
    """
    from holdfast.cli.quiet import load_tensorflow
    from holdfast.cli.terminal import console, error_console

    terminal = error_console() if as_json else console()
    load_tensorflow(imports)
    from holdfast.runs.json_text import to_text
    from holdfast.training.capsule.replay import replay as take_again
    from holdfast.training.capsule.replay_pictures import save_step_pictures

    replayed = take_again(capsule)
    folder = out or capsule.with_suffix("")
    files = save_step_pictures(replayed, folder)
    if as_json:
        document = replayed.document() | {"pictures": [str(file) for file in files]}
        typer.echo(to_text(document, indent=1))
    else:
        _print(terminal, replayed, folder)
    raise typer.Exit(1 if replayed.is_equal is False else 0)


def _print(terminal: Console, replayed: Replayed, folder: Path) -> None:
    from rich.table import Table

    known = replayed.capsule.document
    images = known["images"]
    terminal.print(f"Step {known['step']}: {known['text']}", highlight=False)
    losses = Table("loss", "recorded", "now")
    recorded = known["losses"] or {}
    for name, value in {**replayed.losses, "gradient norm": replayed.gradient_norm}.items():
        before = known["gradient_norm"] if name == "gradient norm" else recorded.get(name)
        losses.add_row(name, "" if before is None else f"{before:.7g}", f"{value:.7g}")
    terminal.print(losses)
    terminal.print(_EQUAL[replayed.is_equal], highlight=False)
    for wrong in replayed.wrong:
        named = ", ".join(images[number] for number in wrong.images[:_NAMED])
        of = f" (images: {named})" if named else ""
        terminal.print(f"not finite: {wrong.where}: {wrong.text}{of}", highlight=False)
    by_image = Table("image", *(name.removeprefix("Loss/") for name in replayed.by_image[0]))
    for image, terms in zip(images, replayed.by_image, strict=True):
        by_image.add_row(image, *(f"{value:.4g}" for value in terms.values()))
    terminal.print(by_image)
    places = Table("largest", "loss", "image", "box (y, x, y, x)")
    for each in replayed.largest:
        box = ", ".join(f"{corner:.3f}" for corner in each.box)
        term = each.term.removeprefix("Loss/")
        places.add_row(f"{term} {each.number}", f"{each.loss:.4g}", images[each.image], box)
    terminal.print(places)
    terminal.print(f"Pictures: {folder}", highlight=False)


_NAMED = 4  # images
_EQUAL = {
    True: "The losses are those that were recorded, to the last bit.",
    False: "The losses differ from those that were recorded: other versions, or another kind of "
    "machine.",
    None: "No losses were recorded: memory ran out.",
}
