"""`holdfast inspect`: what is in the data, in numbers and in pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.options import JsonOption

if TYPE_CHECKING:
    from holdfast.cli.inspect_coverage import Covered
    from holdfast.cli.inspect_readers import Opened
    from holdfast.data.inspection import Inspection
    from holdfast.data.statistics import LeftOut, Statistics

DEFAULT_SHEET = "inspect.png"


def inspect(
    data: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG|DATA",
            help="A pipeline.config; a TFRecord file, pattern or folder; or a COCO, Pascal VOC, "
            "YOLO or LabelMe data set.",
            show_default=False,
        ),
    ],
    label_map: Annotated[
        str | None,
        typer.Option(help="Label map of the records; of a config, instead of its own."),
    ] = None,
    format_name: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="tfrecord|coco|voc|yolo|labelme",
            help="What the data is. Default: found from its files.",
            show_default=False,
        ),
    ] = None,
    sheet: Annotated[
        str, typer.Option(help="Where to write the contact sheet, a PNG.")
    ] = DEFAULT_SHEET,
    no_sheet: Annotated[bool, typer.Option("--no-sheet", help="Draw no contact sheet.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first image or box that is left out.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Count images, boxes and classes, name what cannot be used, and draw a contact sheet.

    What is read is remembered beside the data until the data changes. A config's training images
    are shown before and after augmentation, and its anchors are laid over their boxes.

    Example: `holdfast inspect records --sheet records.png`
    """
    from holdfast.cli.quiet import load_tensorflow

    load_tensorflow()
    from holdfast.cli.inspect_readers import open_all

    opened = open_all(data, format_name, label_map)
    found = {name: _look(name, each, strict) for name, each in opened.sets.items()}
    covered = _cover(opened, found)
    drawn = None if no_sheet else _draw(opened, found, sheet)
    if as_json:
        document = inspection_json(found) | {"anchor_coverage": coverage_json(covered)}
        document |= {"sheet": drawn}
        typer.echo(json.dumps(document, indent=1))  # ASCII: any pipe can carry it
    else:
        from holdfast.cli.inspect_report import print_inspections

        print_inspections(data, found, drawn, covered)


def inspection_json(found: Mapping[str, Inspection]) -> dict[str, Any]:
    """Give one inspection as JSON values; of several the sums, and each under `readers`."""
    if len(found) == 1:
        return _one_json(*found.values())
    every = [each.statistics for each in found.values()]
    classes: dict[str, int] = {}
    for statistics in every:
        for name, boxes in statistics.classes.items():
            classes[name] = classes.get(name, 0) + boxes
    return {
        "images": sum(each.images for each in every),
        "boxes": sum(each.boxes for each in every),
        "classes": classes,
        "left_out": _merged([one for each in every for one in each.left_out]),
        "readers": {name: _one_json(each) for name, each in found.items()},
    }


def coverage_json(covered: Covered | None) -> dict[str, Any] | None:
    """Give the coverage at the config's resolution, and at the published one under `published`."""
    if covered is None:
        return None
    values = asdict(covered.here)
    if covered.change is None or covered.published is None:
        return values
    height, width, _ = covered.change.published
    published = {"height": height, "width": width} | asdict(covered.published)
    return values | {"published": published}


def _merged(groups: list[LeftOut]) -> list[dict[str, Any]]:
    """Join what is left out for the same reason."""
    merged: dict[str, dict[str, Any]] = {}
    for group in groups:
        values = asdict(group)
        if group.reason in merged:
            for key in ("images", "boxes", "images_affected", "examples"):
                merged[group.reason][key] += values[key]
        else:
            merged[group.reason] = values
    return list(merged.values())


def _one_json(inspection: Inspection) -> dict[str, Any]:
    statistics = inspection.statistics
    values = asdict(statistics)
    del values["stored_bytes"], values["records_left_out"]
    return values | {
        "images_left_out": statistics.images_left_out,
        "boxes_left_out": statistics.boxes_left_out,
        "stored_bytes": {
            "total": sum(statistics.stored_bytes),
            "largest": max(statistics.stored_bytes, default=0),
        },
        "notes": list(inspection.notes),
    }


def _look(name: str, data: Any, strict: bool) -> Inspection:
    from holdfast.cli.progress import progress
    from holdfast.data.inspection import Records, inspect_data

    is_records = isinstance(data, Records)
    with progress(f"inspect {name}".strip(), "MB" if is_records else "images") as report:
        scale = 10**6 if is_records else 1
        return inspect_data(
            data, strict=strict, progress=lambda done, total: report(done // scale, total // scale)
        )


def _cover(opened: Opened, found: dict[str, Inspection]) -> Covered | None:
    """Lay the config's anchors over its first set; what keeps them from it is noted there."""
    from holdfast.data.inspection import Records
    from holdfast.errors import HoldfastError

    name, data = next(iter(opened.sets.items()))
    if opened.model is None or not isinstance(data, Records):
        return None
    from holdfast.cli.inspect_coverage import anchor_coverage
    from holdfast.cli.progress import progress

    try:
        with progress("anchors", "MB") as report:
            return anchor_coverage(
                opened.model,
                data,
                found[name].statistics,
                lambda done, total: report(done // 10**6, total // 10**6),
            )
    except HoldfastError as error:
        notes = (*found[name].notes, f"Anchors cannot be laid out: {error.message}")
        found[name] = replace(found[name], notes=notes)
        return None


def _draw(opened: Opened, found: Mapping[str, Inspection], path: str) -> str | None:
    """Draw the first set, which is that for training; None if there is no image to draw."""
    from holdfast.data.contact_sheet import draw_sheet
    from holdfast.errors import HoldfastError
    from holdfast.pictures import save_png

    name, data = next(iter(opened.sets.items()))
    statistics: Statistics = found[name].statistics
    if not statistics.images:
        return None
    picture = draw_sheet(
        data, class_order=tuple(statistics.classes), augmentations=opened.augmentations
    )
    try:
        save_png(path, picture)
    except OSError as error:
        fix = "Name another file with --sheet, or give --no-sheet."
        raise HoldfastError(f"{path} cannot be written: {error.strerror}.", fix=fix) from None
    return path
