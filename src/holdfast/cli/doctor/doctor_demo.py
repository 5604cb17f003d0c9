"""`holdfast demo --doctor`: a training that stagnates, what the doctor finds, and its fix tried."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

if TYPE_CHECKING:
    from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
    from holdfast.doctor.diagnose import Diagnosis
    from holdfast.training.trial import ArmOutcome

STEPS, TRIED_STEPS = 240, 200
TIMES_TOO_HIGH = 100.0
_COLORS = ((230, 25, 75), (60, 180, 75), (245, 130, 49))


def run_doctor_demo(config_path: Path, out: Path, terminal: Console, *, as_json: bool) -> None:
    """Train with a rate 100 times too high, ask the doctor, try what it says, draw both."""
    from holdfast.cli.doctor.doctor_report import print_diagnosis
    from holdfast.cli.doctor.doctor_trial import run_arms, verdict_of
    from holdfast.doctor.diagnose import examine, open_case
    from holdfast.doctor.trial_plan import fix_of

    run = out / "sick"
    terminal.print(f"[bold]2.[/] train with a learning rate {TIMES_TOO_HIGH:.0f} times too high")
    _train(config_path, run, terminal)
    terminal.print(f"[bold]3.[/] ask the doctor: holdfast doctor {run}")
    case = open_case(run)
    diagnosis = examine(case)
    if not as_json:
        print_diagnosis(diagnosis, title=str(run))
    code = _first_to_try(diagnosis)
    terminal.print(f"[bold]4.[/] try its fix: holdfast doctor {run} --try {code}")
    fix = fix_of(case, code)
    outcomes = run_arms(case, fix, TRIED_STEPS, None)
    verdict = verdict_of(outcomes, fix)
    picture = _draw(outcomes, out)
    terminal.print(f"[bold]{verdict.text}[/]")
    terminal.print(f"  [cyan]{'the curves':<18}[/]{picture}", soft_wrap=True)
    if as_json:
        codes = [finding.code for finding in diagnosis.findings]
        document: dict[str, Any] = {"found": codes, "tried": code, "gain": verdict.gain}
        document |= {"offered": verdict.is_offered, "picture": str(picture)}
        typer.echo(json.dumps(document, indent=1))
    raise typer.Exit(0 if verdict.is_offered else 1)


def _train(config_path: Path, run: Path, terminal: Console) -> None:
    from holdfast.cli.train.train_report import TrainReporter
    from holdfast.training.loop import train
    from holdfast.training.training_settings import TrainingSettings

    settings = TrainingSettings(steps=STEPS, evaluate_every=STEPS // 2, checkpoint_every=STEPS // 2)
    with TrainReporter(terminal, run, settings, evaluation_images=0) as reporter:
        train(
            sick_config(config_path),
            run,
            settings=settings,
            folder=config_path.parent,
            reporter=reporter,
        )


def sick_config(path: Path) -> TrainEvalPipelineConfig:
    """Give the demo's config, as short as this demo, with a rate that is far too high."""
    from holdfast.config.facts.rate_curve import rate_curve
    from holdfast.config.load import load_config
    from holdfast.config.schema.optimizer import Optimizer

    config = load_config(path)
    assert config.train_config is not None
    curve = rate_curve(config.train_config.optimizer or Optimizer(), STEPS)
    assert curve is not None
    overrides = curve.scaled(TIMES_TOO_HIGH) | {f"{curve.path}.total_steps": str(STEPS)}
    return load_config(path, overrides | {"train_config.num_steps": str(STEPS)})


def _first_to_try(diagnosis: Diagnosis) -> str:
    """Give the first finding whose fix is a setting."""
    return next(each.code for each in diagnosis.findings if each.fix.set)


def _draw(outcomes: Sequence[ArmOutcome], out: Path) -> Path:
    import numpy as np

    from holdfast.doctor.curves import smoothed
    from holdfast.doctor.line_chart import Chart, ChartLine, draw_chart
    from holdfast.pictures import save_png

    lines = [
        ChartLine(
            label=outcome.name,
            color=color,
            x=range(1, len(outcome.losses) + 1),
            y=smoothed(np.array(outcome.losses), 9).tolist(),
        )
        for outcome, color in zip(outcomes, _COLORS, strict=True)
    ]
    path = out / "doctor.png"
    chart = Chart(
        title="The same training, with and without the fix",
        x_label="step",
        y_label="loss",
        lines=lines,
        log_y=True,
    )
    save_png(str(path), draw_chart(chart))
    return path
