"""`holdfast convert`: a data set of any format to TFRecords and a label map."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.options import JsonOption

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from holdfast.data.conversion_result import Conversion, IncidentGroup


def convert(
    source: Annotated[
        str,
        typer.Argument(
            help="Folder of the data set, COCO JSON file or YOLO data.yaml. With --format "
            "synthetic: number of images and their size, such as 500@320.",
            show_default=False,
        ),
    ],
    out: Annotated[str, typer.Argument(help="Folder for the records.", show_default=False)],
    format_name: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="coco|voc|yolo|labelme|synthetic",
            help="What the data set is. Default: found from its files.",
            show_default=False,
        ),
    ] = None,
    val: Annotated[float, typer.Option(help="Share of the images for validation.")] = 0.2,
    resplit: Annotated[
        bool, typer.Option("--resplit", help="Split anew, whatever splits the data set has.")
    ] = False,
    shards: Annotated[
        int | None,
        typer.Option(help="Files a split. Default: one for 500 images.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides the split and the order.")] = 0,
    masks: Annotated[bool, typer.Option(help="Write instance masks if there are any.")] = True,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first thing that cannot be used.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write COCO, Pascal VOC, YOLO or LabelMe data as TFRecord shards and a label map.

    Splits that the data set has are kept; else --val of the images, of every class alike, become
    val. Stopped or killed, the same command goes on where it was. What cannot be used is left out,
    counted and named; nothing is repaired.

    Example: `holdfast convert 200@128 records --format synthetic`
    """
    from holdfast.cli.progress import progress
    from holdfast.cli.quiet import load_tensorflow

    load_tensorflow()
    from holdfast.data.convert import convert as convert_source
    from holdfast.data.sources.find import open_source

    opened = open_source(source, format_name=format_name, masks=masks, seed=seed)
    with progress("convert", "images") as report:
        result = convert_source(
            opened,
            out,
            val=val,
            seed=seed,
            num_shards=shards,
            keep_splits=not resplit,
            strict=strict,
            progress=report,
        )
    if as_json:
        typer.echo(json.dumps(result_json(result), indent=1, ensure_ascii=False))
    else:
        _print(result)
    raise typer.Exit(0 if result.images else 1)


def result_json(result: Conversion) -> dict[str, Any]:
    """Give a conversion as JSON values."""
    from dataclasses import asdict

    classes = {item.name: 0 for item in result.label_map.item}
    for split in result.splits.values():
        for name, boxes in split.classes.items():
            classes[name] += boxes
    return {
        "out": result.out,
        "format": result.format,
        "label_map": result.label_map_path,
        "images": result.images,
        "boxes": result.boxes,
        "classes": classes,
        "splits": {name: asdict(split) for name, split in result.splits.items()},
        "images_left_out": result.images_left_out,
        "left_out": [asdict(group) for group in result.left_out],
        "remarks": [asdict(group) for group in result.remarks],
        "notes": list(result.notes),
        "shards_kept": result.shards_kept,
    }


def _print(result: Conversion) -> None:
    from rich.text import Text

    from holdfast.cli.terminal import console

    terminal = console()
    terminal.print(_table(result))
    for note in result.notes:
        terminal.print(Text("note: ", style="bold") + Text(note))
    _print_groups(terminal, "left out", "bold yellow", result.left_out)
    _print_groups(terminal, "changed", "bold", result.remarks)
    if result.shards_kept:
        terminal.print(f"{result.shards_kept} shards were there already and are kept.")
    terminal.print(Text(f"label_map_path: {result.label_map_path}"))
    for name, split in result.splits.items():
        terminal.print(Text(f"{name} input_path: {split.pattern}"))


def _table(result: Conversion) -> Table:
    """Count images and objects of each class in each split."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="cyan", padding=(0, 2, 0, 0))
    table.add_column(result.format)
    for name in result.splits:
        table.add_column(name, justify="right")
    splits = result.splits.values()
    table.add_row("shards", *(str(split.shards) for split in splits))
    table.add_row("images", *(str(split.images) for split in splits))
    table.add_row("boxes", *(str(split.boxes) for split in splits))
    for item in result.label_map.item:
        counts = [split.classes.get(item.name, 0) for split in splits]
        if any(counts):
            label = Text(f"  {item.id} {item.name}", style="dim")
            table.add_row(label, *(str(count) for count in counts))
    return table


def _print_groups(
    terminal: Console, title: str, style: str, groups: Iterable[IncidentGroup]
) -> None:
    from rich.text import Text

    for group in groups:
        boxes = f", {group.boxes} boxes" if group.boxes else ""
        count = f"{group.images} image{'' if group.images == 1 else 's'}{boxes}: {group.reason}"
        terminal.print(Text(f"{title}: ", style=style) + Text(count))
        for example in group.examples:
            terminal.print(Text(f"    {example}", style="dim"))
        if len(group.examples) < group.images:
            terminal.print(Text("    … all of them are in convert.json", style="dim"))
