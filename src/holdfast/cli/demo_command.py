"""`holdfast demo`: data made on the spot, a small detector trained on it, and what it finds."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import JsonOption

if TYPE_CHECKING:
    from rich.console import Console

    from holdfast.training.loop import TrainingResult

SOURCE = "1500@160"  # images, and their height and width
SMALL_SOURCE = "400@160"
MAP_50 = "DetectionBoxes_Precision/mAP@.50IOU"
_PICTURES = 6


def demo(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for data, config and run.")
    ] = Path("holdfast-demo"),
    steps: Annotated[
        int | None,
        typer.Option(metavar="N", help="Training steps. Default: 1700.", show_default=False, min=1),
    ] = None,
    doctor: Annotated[
        bool,
        typer.Option(
            "--doctor",
            help="Train one that stagnates instead, find out why, and try what helps.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Train a small detector on generated shapes, and show what it finds.

    It takes a few minutes on two cores. After an interruption, the same command resumes. With
    --doctor the learning rate is 100 times too high: see what `holdfast doctor` says about it.

    Example: `holdfast demo --out my-demo`
    """
    from holdfast.cli.quiet import load_tensorflow
    from holdfast.cli.terminal import console, error_console
    from holdfast.cli.train.supervision import supervised

    terminal = error_console() if as_json else console()
    supervised(terminal, out / ("sick" if doctor else "run"))
    load_tensorflow()
    if doctor:
        from holdfast.cli.doctor.doctor_demo import run_doctor_demo

        _make_data(out / "data", terminal, SMALL_SOURCE)
        run_doctor_demo(_write_config(out), out, terminal, as_json=as_json)
    from holdfast.cli.train.train_end import last_evaluation, result_json
    from holdfast.evaluation.table import result_table
    from holdfast.training.loop import INTERRUPTED
    from holdfast.units import seconds_text

    _make_data(out / "data", terminal, SOURCE)
    config_path = _write_config(out)
    terminal.print(f"[bold]2.[/] train a small detector with {config_path}")
    result = _train(config_path, out / "run", steps, terminal)
    if result.ended == INTERRUPTED:
        terminal.print("Interrupted and saved. The same command resumes.")
        raise typer.Exit(1)
    terminal.print("[bold]3.[/] look for shapes in pictures that the training never saw")
    picture = _draw(config_path, out)
    if (evaluation := last_evaluation(result.run)) is not None:
        terminal.print(result_table(evaluation))
    map_50 = result.metrics.get(MAP_50, 0.0)
    if as_json:
        typer.echo(json.dumps(result_json(result) | {"map_50": map_50}, indent=1))
        return
    spent = seconds_text(result.seconds)
    terminal.print(f"\nmAP at 0.5: [bold]{map_50:.2f}[/] after {spent} of training")
    for label, text in (
        ("what it finds", str(picture)),
        ("curves", f"tensorboard --logdir {out / 'run' / 'tensorboard'}"),
        ("what it was told", str(config_path)),
        ("the run", str(out / "run")),
    ):
        terminal.print(f"  [cyan]{label:<18}[/]{text}", soft_wrap=True)


def _make_data(folder: Path, terminal: Console, source: str) -> None:
    from holdfast.cli.progress_bar import progress
    from holdfast.data.conversion.to_records import convert
    from holdfast.data.sources.open_source import open_source

    terminal.print(f"[bold]1.[/] draw {source.partition('@')[0]} scenes of shapes into {folder}")
    with progress("draw", "images") as report:
        convert(
            open_source(source, format_name="synthetic"), str(folder), val=0.15, progress=report
        )


def _write_config(out: Path) -> Path:
    from holdfast.files import write_text

    path = out / "pipeline.config"
    if not path.exists():
        text = files("holdfast.config.recipes").joinpath("demo.config").read_text()
        write_text(path, text)
    return path


def _train(path: Path, run: Path, steps: int | None, terminal: Console) -> TrainingResult:
    from holdfast.cli.train.train_report import TrainReporter
    from holdfast.config.load import load_config
    from holdfast.training.loop import train
    from holdfast.training.training_settings import TrainingSettings

    settings = TrainingSettings(steps=steps, evaluate_every=425, checkpoint_every=100)
    with TrainReporter(terminal, run, settings, evaluation_images=0) as reporter:
        return train(
            load_config(path), run, settings=settings, folder=path.parent, reporter=reporter
        )


def _draw(config_path: Path, out: Path) -> Path:
    """Draw ground truth and detections of some pictures side by side."""
    from holdfast.checkpoints.transfer import load_checkpoint
    from holdfast.config.load import load_config
    from holdfast.data.input.build_input import open_reader
    from holdfast.data.survey.statistics_cache import record_statistics
    from holdfast.evaluation.build_evaluation import build_evaluation_input, build_evaluation_step
    from holdfast.models.detectors.build_detector import build_detector
    from holdfast.pictures import Cell, contact_sheet, save_png
    from holdfast.training.evaluation_pictures import Gallery, draw_pictures

    config = load_config(config_path)
    records = open_reader(config.eval_input_reader[0], out, name="eval_input_reader")
    statistics = record_statistics(records.files, records.layout, records.names)
    detector = build_detector(config)
    load_checkpoint(detector, out / "run")
    drawn = draw_pictures(
        build_evaluation_step(config, detector),
        build_evaluation_input(config, records, statistics),
        Gallery(names=records.names or {}, images=_PICTURES),
    )
    path = out / "detections.png"
    cells = [Cell(each) for each in drawn.values()]
    save_png(str(path), contact_sheet(cells, columns=2, cell_width=860))
    return path
