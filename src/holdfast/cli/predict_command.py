"""`holdfast predict`: what a trained or exported detector finds in images."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import ImportOption, JsonOption, OverlapOption, TileOption
from holdfast.cli.tile_options import tiling_of

if TYPE_CHECKING:
    from rich.console import Console

    from holdfast.cli.predict_output import PredictOutput
    from holdfast.cli.predict_source import PredictSource
    from holdfast.prediction.loaded_model import LoadedModel
    from holdfast.prediction.predict_images import PredictionSettings

_USUAL_OUT = Path("predictions")


def predict(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="Folder of a run, of an export, or of a pipeline.config with its checkpoint; a "
            ".tflite or .onnx file; or a pipeline.config, together with --checkpoint.",
            show_default=False,
        ),
    ],
    images: Annotated[
        Path,
        typer.Argument(
            metavar="IMAGE|FOLDER|VIDEO",
            help="An image, a folder of images (subfolders included), or a video.",
            show_default=False,
        ),
    ],
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="PREFIX",
            help="Prefix or folder of a checkpoint. Default: the best one of the run.",
            show_default=False,
        ),
    ] = None,
    score: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, metavar="SCORE", help="Lowest score of a detection."),
    ] = 0.5,
    classes: Annotated[
        list[str] | None,
        typer.Option(
            "--classes",
            metavar="CAT,DOG",
            help="Keep only these classes: names, or ids of the label map. Can be repeated.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder for the pictures and predictions.json. Default: predictions, unless "
            "--json or --coco says where the results go.",
            show_default=False,
        ),
    ] = None,
    coco: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the detections as COCO's results, which its tools evaluate.",
            show_default=False,
        ),
    ] = None,
    tile: TileOption = None,
    overlap: OverlapOption = None,
    batch_size: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Images, or tiles of one, to detect in at once. Without --tile, a network whose "
            "input has no fixed size takes one at a time.",
        ),
    ] = 8,
    every: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="For a video: look at every Nth frame only. Default: every frame.",
            show_default=False,
        ),
    ] = None,
    imports: ImportOption = None,
    as_json: JsonOption = False,
) -> None:
    """Detect objects in images or a video: pictures with boxes, and JSON.

    The moving averages of the weights are used where an evaluation uses them. Images are seen
    upright, as their EXIF data says. Files that cannot be read are named and passed over. Of a
    video, an MP4 with the boxes drawn is written, without its sound.

    Example: `holdfast predict runs/one photos --score 0.4 --out found`
    """
    from holdfast.cli.quiet import load_tensorflow
    from holdfast.cli.terminal import console, error_console

    terminal = error_console() if as_json else console()
    tiling = tiling_of(tile, overlap)
    if out is None and coco is None and not as_json:
        out = _USUAL_OUT
    load_tensorflow(imports)
    from holdfast.cli.predict_output import PredictOutput, chosen_ids, refuse_places
    from holdfast.cli.predict_source import opened_source
    from holdfast.prediction.load_model import load_model
    from holdfast.prediction.predict_images import PredictionSettings
    from holdfast.runs.fetched_run import local_path
    from holdfast.store.written_place import written_place

    images = local_path(images)
    refuse_places(images if images.is_dir() else images.parent, out, coco)
    with (
        written_place(out or _USUAL_OUT, replaces=True) as folder,
        written_place(coco or _USUAL_OUT, replaces=True) as results,
        opened_source(images, out, every) as source,
    ):
        loaded = load_model(model, checkpoint)
        settings = PredictionSettings(
            least_score=score,
            ids=chosen_ids(classes, loaded.names),
            batch_size=batch_size,
            tiling=tiling,
        )
        with PredictOutput(
            out=folder if out else None,
            pictures=source.pictures(folder) if out else None,
            coco=results if coco else None,
            model=loaded,
            unit=source.unit,
        ) as output:
            _detect(terminal, loaded, source, settings, output)
            output.finish()
            if as_json:
                output.print_to(sys.stdout)
    output.report(terminal, out, coco)
    raise typer.Exit(0 if output.images else 1)


def _detect(
    terminal: Console,
    model: LoadedModel,
    source: PredictSource,
    settings: PredictionSettings,
    output: PredictOutput,
) -> None:
    from rich.text import Text

    from holdfast.cli.progress_bar import progress

    for line in (f"detecting with {model.description}", *source.notes):
        terminal.print(Text(line), soft_wrap=True)
    with progress("predict", f"{source.unit}s") as report:
        for done, seen in enumerate(source.predict(model, settings), 1):
            output.add(seen)
            report(done, max(done, source.count))
