"""`holdfast demo`: data made on the spot, a small detector trained on it, and what it finds."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from holdfast.training.loop import TrainingResult

SOURCE = "1000@160"  # images, and their height and width
MAP_50 = "DetectionBoxes_Precision/mAP@.50IOU"
_PICTURES = 6


def demo(
    out: Annotated[Path, typer.Option(help="Folder for data, config and run.")] = Path(
        "holdfast-demo"
    ),
    steps: Annotated[
        int | None,
        typer.Option(help="Steps of training. Default: 900.", show_default=False, min=1),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Make pictures of shapes, train a small detector on them, and show what it finds.

    It takes a few minutes on two cores. Stopped or killed, the same command goes on where it was.

    Example: `holdfast demo --out my-demo`
    """
    from rich.console import Console

    from holdfast.cli.quiet import load_tensorflow

    console = Console(stderr=as_json, highlight=False)
    load_tensorflow()
    _make_data(out / "data", console)
    config_path = _write_config(out)
    console.print(f"[bold]2.[/] train a small detector by {config_path}")
    result = _train(config_path, out / "run", steps, console)
    console.print("[bold]3.[/] look for shapes in pictures that the training never saw")
    picture = _draw(config_path, out)
    map_50 = result.metrics.get(MAP_50, 0.0)
    if as_json:
        print(json.dumps(_document(result) | {"map_50": map_50}))
        return
    console.print(f"\nmAP at 0.5: [bold]{map_50:.2f}[/]  in {result.seconds:.0f} s of training")
    console.print(f"what it finds       {picture}")
    console.print(f"curves              tensorboard --logdir {out / 'run' / 'tensorboard'}")
    console.print(f"what it was told    {config_path}")
    console.print(f"the run             {out / 'run'}")


def _make_data(folder: Path, console: Console) -> None:
    from holdfast.cli.progress import progress
    from holdfast.data.convert import convert
    from holdfast.data.sources.find import open_source

    console.print(f"[bold]1.[/] draw {SOURCE.partition('@')[0]} scenes of shapes into {folder}")
    with progress("draw", "images") as report:
        convert(
            open_source(SOURCE, format_name="synthetic"), str(folder), val=0.15, progress=report
        )


def _write_config(out: Path) -> Path:
    from holdfast.files import write_text

    path = out / "pipeline.config"
    if not path.exists():
        text = files("holdfast.config.recipes").joinpath("demo.config").read_text()
        write_text(path, text)
    return path


def _train(path: Path, run: Path, steps: int | None, console: Console) -> TrainingResult:
    from holdfast.cli.progress import progress
    from holdfast.config.load import load_config
    from holdfast.training.loop import train
    from holdfast.training.settings import TrainingSettings

    config = load_config(path)
    settings = TrainingSettings(steps=steps, evaluate_every=300, checkpoint_every=100)
    with progress("train", "steps") as report:
        reporter = _reporter(console, report)
        return train(config, run, settings=settings, folder=path.parent, reporter=reporter)


def _reporter(console: Console, report: Any) -> Any:
    from holdfast.training.reporter import Plan, Progress, Reporter

    class DemoReporter(Reporter):
        """Moves the bar, and says what each evaluation gave."""

        def started(self, plan: Plan) -> None:
            self.steps = plan.steps

        def stepped(self, progress: Progress) -> None:
            report(progress.step, self.steps)

        def evaluated(self, step: int, result: Any, is_best: bool) -> None:
            console.print(f"   step {step}: mAP at 0.5 is {result.metrics[MAP_50]:.2f}")

    return DemoReporter()


def _draw(config_path: Path, out: Path) -> Path:
    """Draw ground truth and detections of some pictures side by side."""
    from holdfast.checkpoints.transfer import load_checkpoint
    from holdfast.config.load import load_config
    from holdfast.data.build import open_reader
    from holdfast.data.statistics_cache import record_statistics
    from holdfast.evaluation.build import build_evaluation_input, build_evaluation_step
    from holdfast.models.detectors.build import build_detector
    from holdfast.pictures import Cell, contact_sheet, save_png
    from holdfast.training.pictures import Gallery, draw_pictures

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


def _document(result: TrainingResult) -> dict[str, Any]:
    return {
        "run": str(result.run),
        "steps": result.steps,
        "metrics": result.metrics,
        "seconds": result.seconds,
        "predicted_peak_bytes": result.predicted_peak_bytes,
        "measured_peak_bytes": result.measured_peak_bytes,
    }
