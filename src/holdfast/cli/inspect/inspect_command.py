"""`holdfast inspect`: what is in the data, in numbers and in pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from holdfast.cli.options import (
    FormatOption,
    ImagesOption,
    ImportOption,
    JsonOption,
    PartOption,
    UseOption,
)
from holdfast.units import count_text

if TYPE_CHECKING:
    from holdfast.cli.inspect.inspect_readers import Opened
    from holdfast.data.survey.inspection import Inspection
    from holdfast.data.survey.statistics import LeftOut, Statistics
    from holdfast.errors import HoldfastError
    from holdfast.models.detectors.build_layout import Covered

DEFAULT_SHEET = "inspect.png"


def inspect(
    data: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG|DATA",
            help="A pipeline.config; TFRecords (a file, a pattern or a folder); or a data set of "
            "any format that `holdfast convert` reads.",
            show_default=False,
        ),
    ],
    label_map: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Label map of TFRecords, or instead of the one that the config names.",
            show_default=False,
        ),
    ] = None,
    format_name: FormatOption = None,
    imports: ImportOption = None,
    use: UseOption = None,
    images: ImagesOption = None,
    sheet: Annotated[
        str, typer.Option(metavar="FILE", help="Where to write the contact sheet, a PNG file.")
    ] = DEFAULT_SHEET,
    no_sheet: Annotated[
        bool, typer.Option("--no-sheet", help="Do not draw a contact sheet.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first image or box that is left out.")
    ] = False,
    part: PartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count images, boxes and classes, and draw a contact sheet.

    Images and boxes that cannot be used are named, with the reason. The counts are stored next to
    the data until it changes. For a config, the contact sheet shows training images before and
    after augmentation, and the anchors are compared with the boxes. With --part, processes and
    machines share the looking at TFRecords, also before a training.

    Exit code: 0 fine, 1 no usable image, 2 the data cannot be read at all.

    Example: `holdfast inspect records --sheet records.png`
    """
    from holdfast.cli.quiet import load_tensorflow

    load_tensorflow(imports)
    from holdfast.cli.inspect.inspect_readers import open_all

    opened = open_all(data, format_name, label_map, images, use or ())
    if part is not None:
        _look_at_part(opened, part, as_json)
        return
    found = {name: _look(name, each, strict) for name, each in opened.sets.items()}
    covered = _cover(opened, found)
    if not as_json:
        from holdfast.cli.inspect.inspect_report import print_inspections

        print_inspections(data, found, covered)
    drawn = Sheet() if no_sheet else _draw(opened, found, sheet)
    if as_json:
        document = inspection_json(found) | {"anchor_coverage": coverage_json(covered)}
        document |= {"sheet": drawn.path, "not_drawn": list(drawn.notes)}
        typer.echo(json.dumps(document, indent=1))  # ASCII: any pipe can carry it
    else:
        from holdfast.cli.inspect.inspect_report import print_drawn

        print_drawn(drawn)
    if drawn.error is not None:
        raise drawn.error
    if not all(each.statistics.images for each in found.values()):
        raise typer.Exit(1)


class Sheet(NamedTuple):
    """The contact sheet: where it is, what is missing on it, what kept it from being written."""

    path: str | None = None
    notes: tuple[str, ...] = ()
    error: HoldfastError | None = None


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
    del values["stored_bytes"], values["records_left_out"], values["records_merged"]
    return values | {
        "records_merged": len(statistics.records_merged),
        "images_left_out": statistics.images_left_out,
        "boxes_left_out": statistics.boxes_left_out,
        "stored_bytes": {
            "total": sum(statistics.stored_bytes),
            "largest": max(statistics.stored_bytes, default=0),
        },
        "masks": inspection.has_masks,
        "keypoints": inspection.num_keypoints,
        "problems": [asdict(each) for each in inspection.problems],
        "notes": list(inspection.notes),
    }


def _look(name: str, data: Any, strict: bool) -> Inspection:
    from holdfast.cli.progress_bar import progress
    from holdfast.data.survey.inspection import Records, inspect_data

    is_records = isinstance(data, Records)
    with progress(f"inspect {name}".strip(), "MB" if is_records else "images") as report:
        scale = 10**6 if is_records else 1
        return inspect_data(
            data, strict=strict, progress=lambda done, total: report(done // scale, total // scale)
        )


def _look_at_part(opened: Opened, text: str, as_json: bool) -> None:
    """Keep what a part of the records shows; the call without a part makes the counts of it."""
    from holdfast.cli.progress_bar import progress
    from holdfast.data.part_of_work import read_part
    from holdfast.data.survey.inspection import Records
    from holdfast.data.survey.stored_observations import StoredObservations
    from holdfast.errors import HoldfastError

    part, images, files = read_part(text), 0, 0
    for name, data in opened.sets.items():
        if not isinstance(data, Records):
            what = "--part applies to TFRecords."
            raise HoldfastError(what, fix="`holdfast convert --part` makes TFRecords of the data.")
        stored = StoredObservations(data.files, data.layout, data.names)
        with progress(f"inspect {name}".strip(), "files") as report:
            images += stored.store(part, report)
        files += len(part.of(data.files))
    if as_json:
        typer.echo(json.dumps({"part": str(part), "files": files, "images": images}))
        return
    typer.echo(
        f"Part {part} is done: {count_text(images, 'image')} looked at, "
        f"{count_text(files, 'file')}. When all parts are done, the same command without --part "
        "counts them."
    )


def _cover(opened: Opened, found: dict[str, Inspection]) -> Covered | None:
    """Lay the config's anchors over its first set; what keeps them from it is noted there."""
    from holdfast.data.survey.inspection import Records
    from holdfast.errors import HoldfastError

    name, data = next(iter(opened.sets.items()))
    if opened.model is None or not isinstance(data, Records):
        return None
    from holdfast.cli.progress_bar import progress
    from holdfast.models.detectors.build_layout import anchor_coverage

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


def _draw(opened: Opened, found: Mapping[str, Inspection], path: str) -> Sheet:
    """Draw the first set, which is that for training, unless it has no image to draw."""
    from holdfast.data.survey.contact_sheet import draw_sheet
    from holdfast.errors import HoldfastError
    from holdfast.pictures import save_png

    name, data = next(iter(opened.sets.items()))
    statistics: Statistics = found[name].statistics
    if not statistics.images:
        return Sheet()
    notes: list[str] = []
    try:
        picture = draw_sheet(
            data,
            class_order=tuple(statistics.classes),
            augmentations=opened.augmentations,
            records_merged=statistics.records_merged,
            tell=notes.append,
        )
        save_png(path, picture)
    except HoldfastError as error:
        return Sheet(notes=(*notes, f"No contact sheet: {error.message}"))
    except OSError as error:
        fix = "Name another file with --sheet, or give --no-sheet."
        refusal = HoldfastError(f"{path} cannot be written: {error.strerror}.", fix=fix)
        return Sheet(notes=tuple(notes), error=refusal)
    return Sheet(path=path, notes=tuple(notes))
