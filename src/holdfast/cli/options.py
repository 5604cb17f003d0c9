"""Options that several commands have, each written once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from holdfast.data.sources.source_formats import format_names


class Precision(StrEnum):
    """The numbers that the network computes with."""

    FLOAT32 = "float32"
    MIXED_FLOAT16 = "mixed_float16"
    MIXED_BFLOAT16 = "mixed_bfloat16"


ConfigArgument = Annotated[Path, typer.Argument(help="The pipeline.config.", show_default=False)]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="PATH=VALUE", help="Override a field of the config. Can be repeated."
    ),
]
ImportOption = Annotated[
    list[str] | None,
    typer.Option(
        "--import",
        metavar="MODULE",
        help="A Python module, or its file, with parts of your own. Can be repeated.",
        show_default=False,
    ),
]
UseOption = Annotated[
    list[str] | None,
    typer.Option(
        "--use",
        metavar="KIND=NAME",
        help="Use a part of your own that the config has no field for: head, classification_loss, "
        "localization_loss, augmentation. Can be repeated.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help=f"Format of the data: {', '.join(format_names())} or tfrecord. "
        "Default: recognized from the files.",
        show_default=False,
    ),
]
PartOption = Annotated[
    str | None,
    typer.Option(
        "--part",
        metavar="N/COUNT",
        help="Do only this part of the files, such as 3/16, while other processes or machines do "
        "the others. The same command without --part then puts all of them together.",
        show_default=False,
    ),
]
LabelMapOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Label map of TFRecords. Default: the .pbtxt file next to them.",
        show_default=False,
    ),
]
ImagesOption = Annotated[
    str | None,
    typer.Option(
        "--images",
        metavar="DIR",
        help="Folder of the images, if it is not the folder of the annotations.",
        show_default=False,
    ),
]
ClassesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--classes",
        metavar="CAT,DOG",
        help="Keep only these classes. Images without any of them are kept, unlabeled. Can be "
        "repeated.",
        show_default=False,
    ),
]
MapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="VAN,TRUCK=VEHICLE",
        help="Merge several classes into one, before --classes is applied. Can be repeated.",
        show_default=False,
    ),
]
SplitSeedOption = Annotated[
    int, typer.Option("--seed", metavar="N", help="Seed of the split and the order.")
]
MirrorOption = Annotated[
    str | None,
    typer.Option(
        "--mirror",
        metavar="PLACE",
        help="Address or folder with the published files under their own names. Default: "
        "HOLDFAST_MIRROR, or where they were published.",
        show_default=False,
    ),
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        metavar="8GiB",
        help="Memory that the training may use in total. Default: what is free on the device.",
        show_default=False,
    ),
]
PrecisionOption = Annotated[
    Precision,
    typer.Option(
        metavar="TYPE",
        help="float32, mixed_float16 or mixed_bfloat16. Mixed precision needs less memory on GPUs "
        "that support it.",
    ),
]
AccumulateOption = Annotated[
    int,
    typer.Option(
        min=1, metavar="N", help="Compute each batch in N pieces, one after another: less memory."
    ),
]
RematerializeOption = Annotated[
    bool,
    typer.Option(
        "--rematerialize",
        help="Recompute activations in the backward pass: less memory, more time.",
    ),
]
MeasureOption = Annotated[
    bool,
    typer.Option("--measure", help="First run some real steps in a separate process and measure."),
]
TileOption = Annotated[
    int | None,
    typer.Option(
        "--tile",
        metavar="N",
        help="Cut each image into tiles of N x N pixels. For images with objects that are too "
        "small for the network once the whole image is resized to its input.",
        show_default=False,
    ),
]
OverlapOption = Annotated[
    float | None,
    typer.Option(
        "--overlap",
        metavar="SHARE",
        help="Share of a tile that its neighbors show, too. Default: 0.2.",
        show_default=False,
    ),
]
