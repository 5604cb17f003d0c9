"""`holdfast train`: train by a config in a run folder, or go on with it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import typer

from holdfast.cli.options import (
    AccumulateOption,
    ConfigArgument,
    ImportOption,
    JsonOption,
    MeasureOption,
    MemoryOption,
    MirrorOption,
    Precision,
    PrecisionOption,
    RematerializeOption,
    SetOption,
    UseOption,
)
from holdfast.cli.train.train_options import (
    CapsuleAtOption,
    CheckpointEveryOption,
    ClassWeightsOption,
    ClipByGroupOption,
    DeterministicOption,
    EvaluateEveryOption,
    KeepOption,
    OptimizerOption,
    PatienceOption,
    PeerTimeoutOption,
    PlanOption,
    PretrainedOption,
    ProfileAtOption,
    PruneOption,
    QuantizeOption,
    RehearseOption,
    RunOption,
    ScheduleOption,
    SeedOption,
    StepsOption,
    TeacherOption,
)
from holdfast.cli.train.train_peers import end_without_peers, meet_peers
from holdfast.cli.train.training_job import Job, checked_job

if TYPE_CHECKING:
    from rich.console import Console

    from holdfast.cli.train.train_report import TrainReporter
    from holdfast.training.loop import TrainingResult


def train(
    config: ConfigArgument,
    run: RunOption,
    pretrained: PretrainedOption = None,
    mirror: MirrorOption = None,
    steps: StepsOption = None,
    seed: SeedOption = 0,
    evaluate_every: EvaluateEveryOption = None,
    checkpoint_every: CheckpointEveryOption = 500,
    keep: KeepOption = 5,
    patience: PatienceOption = None,
    deterministic: DeterministicOption = False,
    class_weights: ClassWeightsOption = None,
    teacher: TeacherOption = None,
    optimizer: OptimizerOption = None,
    schedule: ScheduleOption = None,
    clip_by_group: ClipByGroupOption = None,
    prune: PruneOption = None,
    quantize: QuantizeOption = False,
    capsule_at: CapsuleAtOption = None,
    profile_at: ProfileAtOption = None,
    precision: PrecisionOption = Precision.FLOAT32,
    accumulate: AccumulateOption = 1,
    rematerialize: RematerializeOption = False,
    memory: MemoryOption = None,
    plan: PlanOption = None,
    measure: MeasureOption = False,
    peer_timeout: PeerTimeoutOption = 600.0,
    rehearse: RehearseOption = False,
    assignments: SetOption = None,
    imports: ImportOption = None,
    use: UseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a detector. After a stop or a crash, the same command resumes.

    The run folder holds the config, checkpoints, events and TensorBoard files. Ctrl-C saves and
    stops. A run whose config has changed since is refused. If a step does not fit into memory, it
    is computed in another way, with the same batch (see `holdfast plan`).

    Exit code: 0 the training is complete, 1 it was interrupted or failed, 2 the command, a file or
    the config is wrong, 130 Ctrl-C came before the first step.

    Example: `holdfast train pipeline.config --run runs/one --steps 2000 --patience 3`
    """
    from holdfast.cli.quiet import import_parts
    from holdfast.cli.terminal import console, error_console
    from holdfast.cli.train.pretrained_start import start_overrides
    from holdfast.cli.train.supervision import supervised
    from holdfast.memory.plan import load_plan
    from holdfast.runs.run_mirror import run_folder
    from holdfast.training.optimization_choice import OptimizationChoice
    from holdfast.training.training_settings import TrainingSettings
    from holdfast.units import parse_bytes

    terminal = error_console() if as_json else console()
    memory_bytes = None if memory is None else parse_bytes(memory)
    supervised(terminal, run_folder(run), memory_bytes)
    import_parts(imports)
    job = Job(
        config=config,
        overrides=start_overrides(assignments or [], pretrained, config, mirror),
        use=tuple(use or ()),
        run=run,
        profile_at=profile_at,
        settings=TrainingSettings(
            steps=steps,
            seed=seed,
            precision=precision.value,
            accumulation=accumulate,
            rematerialize=("all",) if rematerialize else (),
            class_weights=class_weights,
            teacher=teacher,
            optimization=OptimizationChoice(
                optimizer=optimizer,
                schedule=schedule,
                clip_by_group=clip_by_group or None,
                prune=prune,
            ),
            evaluate_every=evaluate_every,
            checkpoint_every=checkpoint_every,
            keep=keep,
            patience=patience,
            deterministic=deterministic,
            capsule_at=tuple(capsule_at or ()),
            memory_bytes=memory_bytes,
            plan=None if plan is None else load_plan(plan),
            measures=measure,
            rehearses=rehearse,
            peer_seconds=peer_timeout,
        ),
    )
    result = _trained(terminal, checked_job(terminal, job, quantizes=quantize))
    _end(terminal, result, as_json)


def _trained(terminal: Console, job: Job) -> TrainingResult:
    """Train; Ctrl-C before the first step, and a second one after it, end it at once."""
    from holdfast.cli.terminal import print_error
    from holdfast.training.surviving.failure import TrainingFailedError

    begun: list[TrainReporter] = []
    try:
        meet_peers(terminal, job.settings.peer_seconds)
        return _train(terminal, job, begun)
    except TrainingFailedError as error:
        print_error(error)
        end_without_peers(error)
        raise typer.Exit(1) from error
    except KeyboardInterrupt:
        if begun and begun[0].has_begun:
            typer.echo(f"Stopped at once: what {job.run} saved last is kept.", err=True)
            raise typer.Exit(1) from None
        typer.echo("Stopped before the first step: nothing was trained.", err=True)
        raise typer.Exit(_STOPPED_EARLY) from None


def _train(terminal: Console, job: Job, begun: list[TrainReporter]) -> TrainingResult:
    from holdfast.cli.quiet import load_strategy

    strategy = load_strategy(job.settings.peer_seconds)
    from holdfast.cli.train.run_profiler import run_profiler
    from holdfast.cli.train.train_data import print_data
    from holdfast.cli.train.train_report import TrainReporter
    from holdfast.config.load import load_config
    from holdfast.runs.run_mirror import run_folder
    from holdfast.training.agreement import lost_workers_told
    from holdfast.training.loop import train as train_in_run
    from holdfast.training.peers.present_peers import first_one_first
    from holdfast.training.surviving.out_of_memory import is_out_of_memory, reason_text
    from holdfast.training.surviving.supervised import has_supervisor
    from holdfast.training.surviving.supervisor import FAILED, OUT_OF_MEMORY

    config = load_config(job.config, job.overrides, job.use)
    with lost_workers_told(), first_one_first():
        images = print_data(terminal, config, job.folder)
    folder = run_folder(job.run)
    reporter = TrainReporter(terminal, folder, job.settings, evaluation_images=images)
    begun.append(reporter)
    tracer = run_profiler(job.profile_at, config, job.settings, folder, reporter.note)
    try:
        with reporter, tracer:
            return train_in_run(
                config,
                job.run,
                settings=job.settings,
                folder=job.folder,
                reporter=reporter,
                strategy=strategy,
                tracer=tracer,
            )
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        typer.echo(f"Out of memory: {reason_text(error)}", err=True)
        raise typer.Exit(OUT_OF_MEMORY if has_supervisor() else FAILED) from error


_STOPPED_EARLY = 130  # as shells have it for Ctrl-C


def _end(terminal: Console, result: TrainingResult, as_json: bool) -> None:
    from holdfast.cli.train.train_end import print_end, result_json
    from holdfast.training.loop import INTERRUPTED

    print_end(terminal, result, ["holdfast", *(each for each in sys.argv[1:] if each != "--json")])
    if as_json:
        typer.echo(json.dumps(result_json(result), indent=1))  # ASCII: any pipe can carry it
    raise typer.Exit(1 if result.ended == INTERRUPTED or result.not_uploaded else 0)
