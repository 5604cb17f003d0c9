"""`holdfast convert`: data sets of any format to TFRecords and a label map, or out again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.options import (
    ClassesOption,
    FormatOption,
    ImagesOption,
    ImportOption,
    JsonOption,
    LabelMapOption,
    MapOption,
    OverlapOption,
    PartOption,
    SplitSeedOption,
    TileOption,
)
from holdfast.cli.tile_options import tile_rule_of
from holdfast.units import count_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from holdfast.data.conversion.conversion_result import Conversion, IncidentGroup
    from holdfast.data.conversion.cut_tiles import TileRule
    from holdfast.data.part_of_work import PartOfWork
    from holdfast.data.sources.source import Source


def convert(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE",
            help="Folder of a data set, an annotation file, or TFRecords (a file, a pattern or a "
            "folder). With --format synthetic, number and size of the images: 500@320. Several "
            "sources are merged into one data set.",
            show_default=False,
        ),
    ],
    out: Annotated[str, typer.Argument(help="Folder to write to.", show_default=False)],
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="NAME", help="Format to write: tfrecord, coco, voc, yolo or csv."
        ),
    ] = "tfrecord",
    format_name: FormatOption = None,
    imports: ImportOption = None,
    label_map: LabelMapOption = None,
    images: ImagesOption = None,
    classes: ClassesOption = None,
    merge: MapOption = None,
    val: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the images used for validation.")
    ] = 0.2,
    resplit: Annotated[
        bool, typer.Option("--resplit", help="Make a new split even if the data set has one.")
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
    masks: Annotated[bool, typer.Option(help="Write instance masks, if there are any.")] = True,
    tile: TileOption = None,
    overlap: OverlapOption = None,
    smallest_share: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="With --tile: label a box in the tiles that show at least this share of its "
            "area. Default: 0.5.",
            show_default=False,
        ),
    ] = None,
    empty_tiles: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="With --tile: share of the training tiles without a box that are kept. "
            "Validation keeps all. Default: 1.",
            show_default=False,
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first image or box that cannot be used.")
    ] = False,
    part: PartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Convert labeled images of any format to TFRecords and a label map, or back.

    An existing split is kept; otherwise a share of the images (--val), balanced over the classes,
    becomes the validation set. After an interruption, the same command resumes. What cannot be
    used is left out, counted and named; nothing is repaired. --to writes COCO, Pascal VOC, YOLO
    or CSV instead, from TFRecords too. --tile cuts large images into tiles, those of an image all
    into one split; what an edge cuts through is counted.

    With --part, processes and machines share the work; a part that was killed is started again.

    Example: `holdfast convert 200@128 records --format synthetic`

    Example: `holdfast convert 20@512 tiles --format synthetic --tile 256 --overlap 0.25`

    Example: `holdfast convert records coco --to coco --classes star,ellipse`
    """
    from holdfast.cli.progress_bar import progress
    from holdfast.cli.quiet import load_tensorflow
    from holdfast.progress import in_megabytes

    load_tensorflow(imports)
    from holdfast.data.conversion.open_sources import DataOptions, open_sources
    from holdfast.data.part_of_work import read_part
    from holdfast.data.sources.choose_classes import ClassChoice

    _refuse_options(to, {"--shards": shards, "--part": part})
    portion = read_part(part) if part else None
    rule = tile_rule_of(to, tile, overlap, smallest_share, empty_tiles)
    how = DataOptions(
        format_name=format_name,
        label_map=label_map,
        images=images,
        masks=masks,
        seed=seed,
        val=val,
        choice=ClassChoice(tuple(classes or ()), tuple(merge or ())),
    )
    with progress("read", "MB") as report:
        source = open_sources(sources, how, in_megabytes(report))
    with progress("convert", "images") as report:
        result = _write(
            to,
            source,
            out,
            num_shards=shards,
            tile_rule=rule,
            part=portion,
            val=val,
            seed=seed,
            keep_splits=not resplit,
            strict=strict,
            progress=report,
        )
    if as_json:
        typer.echo(json.dumps(result_json(result), indent=1, ensure_ascii=False))
    else:
        _print(result)
    raise typer.Exit(0 if result.images or part else 1)


def _refuse_options(to: str, of_records: dict[str, object]) -> None:
    from holdfast.data.conversion.conversion_result import RECORDS
    from holdfast.data.writers.writer_formats import refuse_unknown_format
    from holdfast.errors import HoldfastError

    refuse_unknown_format(to)
    for option, value in of_records.items():
        if to != RECORDS and value is not None:
            what = f"{option} applies to TFRecords, not to --to {to}."
            raise HoldfastError(what, fix="Leave it out.")


def _write(
    to: str,
    source: Source,
    out: str,
    *,
    num_shards: int | None,
    tile_rule: TileRule | None,
    part: PartOfWork | None,
    **options: Any,
) -> Conversion:
    from holdfast.data.conversion.conversion_result import RECORDS
    from holdfast.data.conversion.from_records import convert_to
    from holdfast.data.conversion.to_records import convert as convert_to_records

    if to == RECORDS:
        return convert_to_records(
            source, out, num_shards=num_shards, tile_rule=tile_rule, part=part, **options
        )
    return convert_to(to, source, out, **options)


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
        "to": result.to,
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
        "part": result.part,
    }


def _print(result: Conversion) -> None:
    from rich.text import Text

    from holdfast.cli.terminal import console

    terminal = console()
    if not result.boxes:
        what = "box" if result.images else "image"
        warning = f"no {what} was written: there is nothing in it to train on"
        terminal.print(Text("warning: ", style="bold yellow") + Text(warning))
    terminal.print(_table(result))
    for note in result.notes:
        terminal.print(Text("note: ", style="bold") + Text(note))
    _print_groups(terminal, "left out", "bold yellow", result.left_out)
    _print_groups(terminal, "changed", "bold", result.remarks)
    if result.shards_kept:
        terminal.print(_kept(result))
    if result.part:
        rest = "When all parts are done, the same command without --part puts them together."
        terminal.print(Text(f"Part {result.part} is done. {rest}"))
        return
    is_records = result.to == "tfrecord"
    terminal.print(
        Text(f"{'label_map_path' if is_records else 'label map'}: {result.label_map_path}")
    )
    for name, split in result.splits.items():
        terminal.print(Text(f"{name}{' input_path' if is_records else ''}: {split.pattern}"))


def _kept(result: Conversion) -> str:
    kept = count_text(result.shards_kept, "shard" if result.to == "tfrecord" else "part")
    return f"Already there, and kept: {kept}."


def _table(result: Conversion) -> Table:
    """Count images and objects of each class in each split."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="cyan", padding=(0, 2, 0, 0))
    is_records = result.to == "tfrecord"
    table.add_column(result.format if is_records else f"{result.format} to {result.to}")
    for name in result.splits:
        table.add_column(name, justify="right")
    splits = result.splits.values()
    if is_records:
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
        boxes = f", {count_text(group.boxes, 'box', 'boxes')}" if group.boxes else ""
        count = f"{count_text(group.images, 'image')}{boxes}: {group.reason}"
        terminal.print(Text(f"{title}: ", style=style) + Text(count))
        for example in group.examples:
            terminal.print(Text(f"    {example}", style="dim"))
        if len(group.examples) < group.images:
            terminal.print(Text("    … all of them are in convert.json", style="dim"))
