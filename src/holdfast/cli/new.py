"""`holdfast new`: from a folder of labelled images to a config that is ready to train."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.options import JsonOption
from holdfast.config.paths import expand
from holdfast.config.recipes.recipe import RECIPES, find_recipe
from holdfast.config.recipes.schedule import EPOCHS


def new(
    name: Annotated[
        str,
        typer.Argument(help=f"The recipe: {', '.join(RECIPES)}.", show_default=False),
    ],
    data: Annotated[
        str,
        typer.Option(
            help="Folder of labelled images (COCO, Pascal VOC, YOLO, LabelMe) or of TFRecords; "
            "COCO JSON file or YOLO data.yaml; with --format synthetic a number and a size, such "
            "as 500@320.",
            show_default=False,
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(help="Folder for config and records. Default: named as the recipe."),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(help="Weights to start from: ckpt-0 of an unpacked zoo archive, …"),
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(help="Images a step. Default: the recipe's, at most all there are."),
    ] = None,
    epochs: Annotated[
        int, typer.Option(help="How often to see each image; decides the number of steps.")
    ] = EPOCHS,
    format_name: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="coco|voc|yolo|labelme|tfrecord|synthetic",
            help="What the data is. Default: found from its files.",
            show_default=False,
        ),
    ] = None,
    label_map: Annotated[
        str | None,
        typer.Option(help="Label map of TFRecords. Default: the .pbtxt beside them."),
    ] = None,
    val: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the images for validation.")
    ] = 0.2,
    resplit: Annotated[
        bool, typer.Option("--resplit", help="Split anew, whatever splits the data has.")
    ] = False,
    shards: Annotated[
        int | None,
        typer.Option(help="Files a split. Default: one for 500 images.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides the split and the order.")] = 0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first thing that cannot be used.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write a pipeline.config for a known network, filled in from your labelled images.

    The data is converted to TFRecords beside the config; splits that it has are kept. Classes,
    paths, batch size, schedule and learning rate follow from the data and are explained in the
    file. The same command goes on where it was stopped.

    Example: `holdfast new fpnlite_320 --data 200@320 --format synthetic --out shapes`
    """
    recipe = find_recipe(name)  # before anything that takes time
    from holdfast.cli.quiet import load_tensorflow

    load_tensorflow()
    from holdfast.cli.new_data import SplitOptions
    from holdfast.cli.new_making import Wishes, make
    from holdfast.cli.new_report import made_json, print_made

    made = make(
        recipe,
        Wishes(
            data=data,
            out=Path(expand(out or recipe.name)),
            format_name=format_name,
            label_map=label_map,
            checkpoint=checkpoint,
            batch_size=batch_size,
            epochs=epochs,
            split=SplitOptions(val=val, resplit=resplit, shards=shards, seed=seed, strict=strict),
        ),
    )
    if as_json:
        typer.echo(json.dumps(made_json(made), indent=1))  # ASCII: any pipe can carry it
    else:
        print_made(made)
    raise typer.Exit(0 if made.check.ok else 1)
