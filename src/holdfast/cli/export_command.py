"""`holdfast export`: a trained detector as a file for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import ImportOption, JsonOption, SetOption, UseOption
from holdfast.export.client_input import ClientInput
from holdfast.export.export_choices import ExportPrecision, ExportSettings, FormatName

if TYPE_CHECKING:
    from rich.console import Console

    from holdfast.export.export_model import ExportResult


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
        typer.Option(metavar="DIR", help="Folder to create for the export.", show_default=False),
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
        FormatName, typer.Option("--format", metavar="NAME", help="saved_model, tflite or onnx.")
    ] = FormatName.SAVED_MODEL,
    precision: Annotated[
        ExportPrecision,
        typer.Option(
            metavar="TYPE",
            help="Numbers to compute with: float32; for tflite also float16, dynamic or int8.",
        ),
    ] = ExportPrecision.FLOAT32,
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
            help="Lowest score that suppression considers; a higher one is faster. Default: the "
            "config's.",
            show_default=False,
        ),
    ] = None,
    max_detections: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Most detections per image. Default: the config's.",
            show_default=False,
        ),
    ] = None,
    fast_suppression: Annotated[
        bool,
        typer.Option(
            "--fast-nms",
            help="Suppress boxes across classes: faster, but where objects of two classes overlap, "
            "only the better one is found.",
        ),
    ] = False,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help="For onnx: leave out the suppression, and give every box with its scores.",
        ),
    ] = False,
    images: Annotated[
        int,
        typer.Option(min=1, max=256, metavar="N", help="Images to compare the export on."),
    ] = 8,
    assignments: SetOption = None,
    imports: ImportOption = None,
    use: UseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a trained detector for other programs, and prove that it finds the same.

    A SavedModel has the OD API's signature, and loads without Holdfast. A TFLite file gives boxes,
    classes, scores and count, with labels and normalization inside; int8 takes its ranges from the
    training data. What was written is run in its own runtime on images of the config's data, or on
    images made on the spot, and compared with the detector; one that differs is an error, and
    nothing is written. The moving averages of the weights are exported where an evaluation uses
    them.

    Example: `holdfast export runs/one --out exported --score-threshold 0.05`
    """
    from holdfast.cli.quiet import load_tensorflow
    from holdfast.cli.set_option import parse_assignments
    from holdfast.cli.terminal import console, error_console, print_error

    terminal = error_console() if as_json else console()
    overrides = parse_assignments(assignments or [])
    load_tensorflow(imports)
    from holdfast.checkpoints.trained_model import choose_trained
    from holdfast.export.export_model import DifferingExportError, export_model
    from holdfast.store.written_place import written_place

    chosen = choose_trained(target, checkpoint, overrides=overrides, use=use)
    terminal.print(f"exporting {chosen.checkpoint} as {format_name}", soft_wrap=True, markup=False)
    settings = ExportSettings(
        format=format_name,
        precision=precision,
        input_type=input_type,
        score_threshold=score_threshold,
        max_detections=max_detections,
        fast_suppression=fast_suppression,
        raw=raw,
        images=images,
    )
    try:
        with written_place(out) as folder:
            result = export_model(chosen, folder, settings, tell=terminal.print, shown=out)
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

    from holdfast.files import shown_path
    from holdfast.units import bytes_text

    evidence, compared = result.evidence, result.evidence.comparison
    rows = {
        "images": f"{compared.images} ({evidence.source})",
        "objects": str(compared.objects),
        "unmatched": str(compared.unmatched),
        "largest score difference": f"{compared.largest_score_difference:.2g}",
        "smallest IoU of boxes": f"{compared.smallest_iou:.5f}",
    }
    if compared.smallest_mask_iou is not None:
        rows["smallest IoU of masks"] = f"{compared.smallest_mask_iou:.5f}"
    if compared.largest_keypoint_distance is not None:
        rows["largest keypoint distance"] = f"{compared.largest_keypoint_distance:.2g}"
    if compared.smallest_sure_iou is not None:
        rows["smallest IoU above a score of 0.5"] = f"{compared.smallest_sure_iou:.5f}"
    if compared.largest_raw_score_difference is not None:
        rows["largest difference before suppression"] = (
            f"{compared.largest_raw_score_difference:.2g}"
        )
    if evidence.map_before is not None and evidence.map_after is not None:
        rows["mAP of the detector"] = f"{evidence.map_before:.4f}"
        rows["mAP of the export"] = f"{evidence.map_after:.4f}"
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("compared with the detector", style="cyan")
    table.add_column("", justify="right")
    for name, value in rows.items():
        table.add_row(name, value)
    terminal.print(table)
    terminal.print(
        Text(f"written: {shown_path(out)} ({bytes_text(result.num_bytes)})"), soft_wrap=True
    )
