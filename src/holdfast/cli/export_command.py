"""`holdfast export`: a trained detector as a file for other programs."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import ImportOption, JsonOption, SetOption, UseOption
from holdfast.export.client_input import ClientInput

if TYPE_CHECKING:
    from rich.console import Console

    from holdfast.export.export_model import ExportResult


class ExportFormat(StrEnum):
    """What can be written."""

    SAVED_MODEL = "saved_model"


def export(
    target: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|CONFIG",
            help="Folder of a run; or a pipeline.config, together with --checkpoint.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Folder to be made for the export.", show_default=False),
    ],
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="PREFIX",
            help="Prefix or folder of a checkpoint, Holdfast's or the OD API's. Default: the best "
            "one of the run.",
            show_default=False,
        ),
    ] = None,
    format_name: Annotated[
        ExportFormat, typer.Option("--format", metavar="NAME", help="saved_model.")
    ] = ExportFormat.SAVED_MODEL,
    input_type: Annotated[
        ClientInput,
        typer.Option(
            "--input",
            metavar="TYPE",
            help="What clients send: image_tensor, encoded_image_string_tensor or tf_example.",
        ),
    ] = ClientInput.IMAGE_TENSOR,
    score_threshold: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            metavar="SCORE",
            help="Least score that suppression looks at; a higher one is faster. Default: the "
            "config's.",
            show_default=False,
        ),
    ] = None,
    max_detections: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Most detections of an image. Default: the config's.",
            show_default=False,
        ),
    ] = None,
    assignments: SetOption = None,
    imports: ImportOption = None,
    use: UseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a trained detector for other programs, and prove that it finds the same.

    The SavedModel has the OD API's signature, and loads without Holdfast. It is run in a fresh
    process on images of the config's data, or on images made on the spot, and compared with the
    detector; one that differs is an error, and nothing is written. The moving averages of the
    weights are exported where an evaluation uses them.

    Example: `holdfast export runs/one --out exported --score-threshold 0.05`
    """
    from holdfast.cli.quiet import load_tensorflow
    from holdfast.cli.set_option import parse_assignments
    from holdfast.cli.terminal import console, error_console, print_error

    terminal = error_console() if as_json else console()
    overrides = parse_assignments(assignments or [])
    load_tensorflow(imports)
    from holdfast.checkpoints.trained_model import choose_trained
    from holdfast.export.export_model import DifferingExportError, ExportSettings, export_model

    chosen = choose_trained(target, checkpoint, overrides=overrides, use=use)
    terminal.print(f"exporting {chosen.checkpoint} as {format_name}", soft_wrap=True, markup=False)
    settings = ExportSettings(
        input_type=input_type,
        score_threshold=score_threshold,
        max_detections=max_detections,
    )
    try:
        result = export_model(chosen, out, settings, tell=terminal.print)
    except DifferingExportError as error:
        print_error(error)
        raise typer.Exit(1) from error
    if as_json:
        typer.echo(json.dumps(result.document(), indent=1))
    else:
        _print(terminal, result, out)


def _print(terminal: Console, result: ExportResult, out: Path) -> None:
    from rich.table import Table
    from rich.text import Text

    from holdfast.units import bytes_text

    compared = result.comparison
    rows = {
        "images": f"{compared.images} ({result.compared_on})",
        "objects": str(compared.objects),
        "unmatched": str(compared.unmatched),
        "largest score difference": f"{compared.largest_score_difference:.2g}",
        "smallest IoU of boxes": f"{compared.smallest_iou:.5f}",
    }
    if compared.smallest_mask_iou is not None:
        rows["smallest IoU of masks"] = f"{compared.smallest_mask_iou:.5f}"
    if compared.largest_keypoint_distance is not None:
        rows["largest keypoint distance"] = f"{compared.largest_keypoint_distance:.2g}"
    if compared.largest_raw_score_difference is not None:
        rows["largest difference before suppression"] = (
            f"{compared.largest_raw_score_difference:.2g}"
        )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("compared with the detector", style="cyan")
    table.add_column("", justify="right")
    for name, value in rows.items():
        table.add_row(name, value)
    terminal.print(table)
    terminal.print(Text(f"written: {out} ({bytes_text(result.num_bytes)})"), soft_wrap=True)
