"""`holdfast evaluate`: how good a run, or a config with a checkpoint, is on its evaluation data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import (
    ImportOption,
    JsonOption,
    OverlapOption,
    SetOption,
    TileOption,
    UseOption,
)
from holdfast.cli.tile_options import tiling_of

if TYPE_CHECKING:
    from rich.console import Console

    from holdfast.checkpoints.trained_model import TrainedModel
    from holdfast.evaluation.result import EvaluationResult
    from holdfast.geometry.image_tiles import Tiling


def evaluate(
    target: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|CONFIG",
            help="Folder of a run; or a pipeline.config, together with --checkpoint.",
            show_default=False,
        ),
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
    latest: Annotated[
        bool,
        typer.Option("--latest", help="Evaluate the last checkpoint of the run, not the best one."),
    ] = False,
    tile: TileOption = None,
    overlap: OverlapOption = None,
    assignments: SetOption = None,
    imports: ImportOption = None,
    use: UseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compute COCO metrics, overall and for each class.

    The metrics are those that eval_config names, COCO's by default. The moving averages of the
    weights are evaluated if there are any, unless eval_config.use_moving_averages is false.

    With --tile, the detector looks at tiles of each image, and what it finds there is merged before
    it is compared with the labels of the whole image.

    Example: `holdfast evaluate runs/one --set eval_config.batch_size=16`
    """
    from holdfast.cli.quiet import load_tensorflow
    from holdfast.cli.set_option import parse_assignments
    from holdfast.cli.terminal import console, error_console

    terminal = error_console() if as_json else console()
    overrides = parse_assignments(assignments or [])
    tiling = tiling_of(tile, overlap)
    load_tensorflow(imports)
    from holdfast.checkpoints.trained_model import choose_trained

    chosen = choose_trained(target, checkpoint, latest=latest, overrides=overrides, use=use)
    result = _evaluated(terminal, chosen, tiling)
    if as_json:
        document = {"checkpoint": chosen.checkpoint} | result.document()
        typer.echo(json.dumps(document, indent=1))  # ASCII: any pipe can carry it
    else:
        _print(terminal, result)


def _evaluated(terminal: Console, chosen: TrainedModel, tiling: Tiling | None) -> EvaluationResult:
    from rich.text import Text

    from holdfast.cli.progress_bar import progress
    from holdfast.cli.train.train_data import look_at
    from holdfast.training.api import evaluate as evaluate_checkpoint
    from holdfast.training.api import uses_averages

    averages = ", moving averages" if uses_averages(chosen.config, chosen.checkpoint) else ""
    why = f" ({chosen.description}{averages})" if chosen.description else averages
    terminal.print(Text(f"evaluating {chosen.checkpoint}{why}"), soft_wrap=True)
    if chosen.config.eval_input_reader:
        look_at(terminal, chosen.config.eval_input_reader[0], chosen.folder, "eval_input_reader")
    with progress("evaluate", "images") as report:
        return evaluate_checkpoint(
            chosen.config,
            chosen.checkpoint,
            folder=chosen.folder,
            tiling=tiling,
            progress=report,
        )


def _print(terminal: Console, result: EvaluationResult) -> None:
    from holdfast.evaluation.table import result_table
    from holdfast.units import count_text, seconds_text

    terminal.print(result_table(result))
    time = f" in {seconds_text(result.seconds)}" if result.seconds is not None else ""
    terminal.print(f"\n{count_text(result.images, 'image')}{time}")
