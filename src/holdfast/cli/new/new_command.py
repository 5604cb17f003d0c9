"""`holdfast new`: from a folder of labeled images to a config that is ready to train."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.options import (
    ClassesOption,
    FormatOption,
    ImagesOption,
    ImportOption,
    JsonOption,
    LabelMapOption,
    MapOption,
    MirrorOption,
    SplitSeedOption,
)
from holdfast.cli.train.pretrained_start import refuse_mirror
from holdfast.config.paths import expand
from holdfast.config.recipes.recipe_table import RECIPES, find_recipe
from holdfast.config.recipes.schedule import EPOCHS, FINE_TUNING_EPOCHS, WantedPace
from holdfast.errors import HoldfastError


def new(
    name: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE", help=f"The network: {', '.join(RECIPES)}.", show_default=False
        ),
    ],
    data: Annotated[
        list[str],
        typer.Option(
            metavar="DIR",
            help="Folder of labeled images of any format or of TFRecords, or an annotation file. "
            "With --format synthetic, number and size of the images: 500@320. Can be repeated; "
            "the data sets are merged.",
            show_default=False,
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Folder for the config and the records. Default: the recipe's name.",
            show_default=False,
        ),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="PREFIX",
            help="Weights to start from, for example ckpt-0 of an unpacked archive of the model "
            "zoo.",
            show_default=False,
        ),
    ] = None,
    pretrained: Annotated[
        bool,
        typer.Option(
            "--pretrained",
            help="Start from the published weights of the network, which are fetched if they are "
            "not here yet (see `holdfast weights`).",
        ),
    ] = False,
    mirror: MirrorOption = None,
    input_size: Annotated[
        int | None,
        typer.Option(
            min=32,
            metavar="N",
            help="Height and width of the network's input. Default: the published size, or a "
            "larger one if small objects need it.",
            show_default=False,
        ),
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Images per step. Default: the recipe's, at most the number of images.",
            show_default=False,
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help=f"How often each image is seen. Default: {FINE_TUNING_EPOCHS} when starting from "
            f"a detector's weights, otherwise {EPOCHS}.",
            show_default=False,
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Training steps, instead of --epochs.", show_default=False
        ),
    ] = None,
    format_name: FormatOption = None,
    imports: ImportOption = None,
    label_map: LabelMapOption = None,
    images: ImagesOption = None,
    classes: ClassesOption = None,
    merge: MapOption = None,
    val: Annotated[
        float,
        typer.Option(
            min=0, max=1, metavar="SHARE", help="Share of the images used for validation."
        ),
    ] = 0.2,
    resplit: Annotated[
        bool, typer.Option("--resplit", help="Make a new split even if the data has one.")
    ] = False,
    shards: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="TFRecord files per split. Default: one per 500 images.",
            show_default=False,
        ),
    ] = None,
    seed: SplitSeedOption = 0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first image or box that cannot be used.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write a pipeline.config for a known network, filled in from your data.

    The data is converted to TFRecords next to the config; an existing split is kept. Classes,
    paths, batch size, schedule and learning rate follow from the data and are explained in the
    file. After an interruption, the same command resumes.

    Example: `holdfast new fpnlite_320 --data 200@320 --format synthetic --out shapes`

    Example: `holdfast new fpnlite_320 --data 200@320 --format synthetic --classes star,triangle`

    Example: `holdfast new fpnlite_320 --data photos --pretrained`
    """
    recipe = find_recipe(name)  # before anything that takes time
    _refuse_two_lengths(epochs, steps)
    _refuse_two_starts(checkpoint, pretrained, mirror)
    from holdfast.cli.quiet import load_tensorflow

    load_tensorflow(imports)
    from holdfast.cli.new.new_report import made_json, print_made
    from holdfast.cli.progress_bar import progress
    from holdfast.data.conversion.open_sources import DataOptions
    from holdfast.data.sources.choose_classes import ClassChoice
    from holdfast.projects.making import Wishes, make
    from holdfast.projects.project_data import SplitOptions
    from holdfast.store.gs_place import store_url
    from holdfast.store.written_place import written_place

    place = Path(expand(out or recipe.name))
    # A config in the store cannot name what lies here by a relative path.
    from_here = _absolute_if_there if store_url(place) else str
    with written_place(place) as folder:
        made = make(
            recipe,
            Wishes(
                data=tuple(from_here(each) for each in data),
                reading=DataOptions(
                    format_name=format_name,
                    label_map=from_here(label_map) if label_map else None,
                    images=images,
                    seed=seed,
                    val=val,
                    choice=ClassChoice(tuple(classes or ()), tuple(merge or ())),
                ),
                out=folder,
                shown_out=place,
                checkpoint=from_here(checkpoint) if checkpoint else None,
                pretrained=pretrained,
                mirror=mirror,
                input_size=input_size,
                pace=WantedPace(batch_size=batch_size, epochs=epochs, steps=steps),
                split=SplitOptions(
                    val=val, resplit=resplit, shards=shards, seed=seed, strict=strict
                ),
            ),
            watch=progress,
        )
    if as_json:
        typer.echo(json.dumps(made_json(made), indent=1))  # ASCII: any pipe can carry it
    else:
        print_made(made)
    raise typer.Exit(0 if made.check.ok else 1)


def _absolute_if_there(path: str) -> str:
    return os.path.abspath(expand(path)) if os.path.exists(expand(path)) else path


def _refuse_two_lengths(epochs: int | None, steps: int | None) -> None:
    if steps is not None and epochs is not None:
        raise HoldfastError(
            f"--epochs {epochs} and --steps {steps} both set the length of the training.",
            fix="Give only one of them.",
        )


def _refuse_two_starts(checkpoint: str | None, pretrained: bool, mirror: str | None) -> None:
    if checkpoint is not None and pretrained:
        raise HoldfastError(
            f"--checkpoint {checkpoint} and --pretrained both say what to start from.",
            fix="Give only one of them.",
        )
    refuse_mirror(mirror, "recipe's" if pretrained else None)
