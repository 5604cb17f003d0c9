"""`holdfast compare`: size, speed, memory and accuracy of several models, side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import JsonOption, LabelMapOption

if TYPE_CHECKING:
    from holdfast.prediction.compare_models import ComparedModel, ComparisonSettings

_USUAL_PICTURE = Path("comparison.png")


def compare(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="Runs, folders with a pipeline.config and a checkpoint, exports of any format, "
            "or CONFIG@CHECKPOINT.",
            show_default=False,
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="What to compare on: a run or config, of which the evaluation data is taken, or "
            "TFRecords with --label-map. Default: the data of the first MODEL that names any.",
            show_default=False,
        ),
    ] = None,
    label_map: LabelMapOption = None,
    rounds: Annotated[
        int, typer.Option(min=1, metavar="N", help="Rounds; in each, every model has its turn.")
    ] = 5,
    images: Annotated[
        int, typer.Option(min=1, metavar="N", help="Images that are timed one by one in a turn.")
    ] = 10,
    batch_size: Annotated[
        int, typer.Option(min=1, metavar="N", help="Images at once, for the throughput.")
    ] = 8,
    cores: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Cores that a model may use. Default: all.",
            show_default=False,
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where to draw mAP against latency, as PNG. Default: comparison.png, unless "
            "--json is given.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare models on the same data: size, speed, memory and mAP.

    Each model is loaded in a process of its own, and they take turns: while one works, the others
    wait. Times are those of this machine, with resizing and suppression.

    Example: `holdfast compare runs/one exported/model.tflite --data runs/one`
    """
    from holdfast.cli.progress_bar import progress
    from holdfast.cli.quiet import load_tensorflow
    from holdfast.errors import HoldfastError

    if picture is not None and picture.suffix.lower() != ".png":
        raise HoldfastError(f"{picture} is not a name of a PNG.", fix="Let it end in .png.")
    load_tensorflow()
    from holdfast.prediction.compare_models import ComparisonSettings, compare_models
    from holdfast.prediction.compared_data import names_data

    place = data or next((each for each in models if names_data(each)), None)
    settings = ComparisonSettings(
        data=place,
        label_map=label_map,
        rounds=rounds,
        images=images,
        batch_size=batch_size,
        cores=cores,
    )
    with progress("compare", "turns") as report:
        compared = compare_models(models, settings, report)
    picture = picture or (None if as_json else _USUAL_PICTURE)
    if picture is not None:
        _draw(compared, picture)
    if as_json:
        document = {
            "data": place,
            "rounds": rounds,
            "batch_size": batch_size,
            "models": [each.document() for each in compared],
        }
        typer.echo(json.dumps(document, indent=1))
    else:
        _print(compared, settings, picture)


def _draw(compared: Sequence[ComparedModel], picture: Path) -> None:
    from holdfast.prediction.bubble_chart import draw_bubbles
    from holdfast.prediction.drawn_image import save_picture

    save_picture(picture, draw_bubbles(compared))


def _print(
    compared: Sequence[ComparedModel], settings: ComparisonSettings, picture: Path | None
) -> None:
    from rich.table import Table
    from rich.text import Text

    from holdfast.cli.terminal import console
    from holdfast.units import bytes_text

    table = Table(box=None, padding=(0, 1), header_style="bold")
    table.add_column("model", overflow="fold")
    for column in ("size", "zipped", "median", "p90", "images/s", "memory", "mAP", "mAP@0.5"):
        table.add_column(column, justify="right", no_wrap=True)
    for each in compared:
        table.add_row(
            Text(each.model),
            bytes_text(each.bytes),
            bytes_text(each.zipped_bytes),
            f"{each.latency_ms_median:.1f} ms",
            f"{each.latency_ms_p90:.1f} ms",
            f"{each.images_per_second:.1f}",
            bytes_text(each.memory_bytes),
            "" if each.map is None else f"{each.map:.3f}",
            "" if each.map_50 is None else f"{each.map_50:.3f}",
        )
    terminal = console()
    terminal.print(table)
    for each in compared:
        note = f"; it {each.note}" if each.note else ""
        text = f"{each.model}: {each.runtime}, {each.cores} cores{note}"
        terminal.print(Text(text, style="dim"), soft_wrap=True)
    where = f"data: {settings.data}" if settings.data else "no data: images of noise, and no mAP"
    terminal.print(Text(f"{where}; images/s in batches of {settings.batch_size}", style="dim"))
    if picture is not None:
        terminal.print(Text(f"written: {picture}"), soft_wrap=True)
