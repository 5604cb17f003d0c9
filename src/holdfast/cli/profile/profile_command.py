"""`holdfast profile`: where the time and the memory of a training step go."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from holdfast.cli.options import (
    ImportOption,
    JsonOption,
    MemoryOption,
    Precision,
    PrecisionOption,
    SetOption,
    UseOption,
)
from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
    from holdfast.memory.plan import MemoryPlan
    from holdfast.profiling.step_profile import StepProfile
    from holdfast.training.training_settings import TrainingSettings


def profile(
    target: Annotated[
        Path,
        typer.Argument(
            metavar="CONFIG|RUN",
            help="A pipeline.config; or the folder of a run, whose config and plan are taken.",
            show_default=False,
        ),
    ],
    steps: Annotated[
        int, typer.Option(min=1, metavar="N", help="Steps to trace and average.")
    ] = 10,
    warm_up: Annotated[
        int, typer.Option(min=1, metavar="N", help="Steps before them: the first are slower.")
    ] = 5,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of the trace, which TensorBoard shows.")
    ] = Path("profile"),
    top: Annotated[int, typer.Option(min=1, metavar="N", help="Rows of each table.")] = 12,
    memory: MemoryOption = None,
    precision: PrecisionOption = Precision.FLOAT32,
    assignments: SetOption = None,
    imports: ImportOption = None,
    use: UseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show which layers and operations a training step spends its time and memory on.

    Some steps are taken under TensorFlow's profiler, in a temporary folder: a run is not changed.
    Each moment is divided among the operations that run in it, so that layers,
    loss, optimizer, waiting for input and the rest add up to the step.

    Exit code: 0 profiled, 1 the steps failed, 2 the command, a file or the config is wrong.

    Example: `holdfast profile pipeline.config --steps 10 --out profile`
    """
    from holdfast.cli.quiet import load_tensorflow
    from holdfast.cli.set_option import parse_assignments
    from holdfast.cli.terminal import console, print_error
    from holdfast.files import refuse_remote
    from holdfast.units import parse_bytes

    refuse_remote(out, "the folder of a trace")
    job = _job(target, parse_assignments(assignments or []), use)
    load_tensorflow(imports)
    from holdfast.cli.profile.profile_report import print_profile
    from holdfast.training.surviving.failure import TrainingFailedError

    limit = None if memory is None else parse_bytes(memory)
    settings = _settings(job, precision.value, limit, warm_up + steps)
    try:
        found, plan = _profiled(job, settings, warm_up + 1, steps, out)
    except TrainingFailedError as error:
        print_error(error)
        raise typer.Exit(1) from error
    if as_json:
        typer.echo(json.dumps(found.document() | {"plan": dict(plan.items)}, indent=1))
    else:
        print_profile(console(), found, plan, top)


class _Job(NamedTuple):
    """What is profiled."""

    config: TrainEvalPipelineConfig
    folder: Path
    run: Path | None


def _job(target: Path, overrides: dict[str, str], use: list[str] | None) -> _Job:
    from holdfast.config.load import load_config
    from holdfast.runs.run import Run, is_run

    if not is_run(target):
        return _Job(load_config(target, overrides, use or ()), target.parent, None)
    run = Run.open(target)
    config = load_config(run.config_path, overrides, run.part_choices if use is None else use)
    return _Job(config, run.config_folder, None if overrides else target)


def _settings(job: _Job, precision: str, memory_bytes: int | None, steps: int) -> TrainingSettings:
    """Take the steps as the run did, or as a training of the config would."""
    from holdfast.memory.plan import load_plan
    from holdfast.runs.run import Run
    from holdfast.training.training_settings import TrainingSettings
    from holdfast.training.trial import settings_of

    settings = TrainingSettings(precision=precision)
    if job.run is not None:
        run = Run.open(job.run)
        settings = settings_of(run.manifest)
        if run.plan_path.exists():
            plan = load_plan(run.plan_path)
            settings = replace(settings, plan=plan, precision=plan.settings.precision)
    return replace(
        settings,
        steps=steps,
        checkpoint_every=steps + 1,
        vitals_every=None,
        memory_bytes=memory_bytes,
    )


def _profiled(
    job: _Job, settings: TrainingSettings, first: int, count: int, out: Path
) -> tuple[StepProfile, MemoryPlan]:
    """Take the steps, and read their trace."""
    from holdfast.cli.profile.profiled_steps import ProfiledSteps
    from holdfast.cli.progress_bar import progress
    from holdfast.profiling.step_profiler import StepProfiler
    from holdfast.training.api import train

    profiler = StepProfiler(out, first=first, count=count)
    config = job.config.replace(eval_input_reader=())
    with (
        TemporaryDirectory(prefix="holdfast-profile-") as place,
        progress("steps", "steps") as told,
    ):
        reporter = ProfiledSteps(profiler, told)
        try:
            train(
                config, Path(place) / "run", settings=settings, folder=job.folder, reporter=reporter
            )
        finally:
            profiler.stop()
    if reporter.profile is None or reporter.plan is None:
        raise HoldfastError("The training ended before the steps that were to be profiled.")
    return reporter.profile, reporter.plan
