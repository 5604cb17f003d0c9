"""`holdfast train`: train by a config in a run folder, or go on with it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from holdfast.cli.train.train_peers import end_without_peers, meet_peers
from holdfast.cli.train.training_job import Job, checked_job

if TYPE_CHECKING:
    from rich.console import Console

    from holdfast.cli.train.train_report import TrainReporter
    from holdfast.training.loop import TrainingResult


def train(
    config: ConfigArgument,
    run: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Folder of the run, or gs://BUCKET/FOLDER. An existing run is resumed.",
            show_default=False,
        ),
    ],
    pretrained: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Start from published weights instead of the config's: a name of `holdfast "
            "weights list`, a recipe, an address or an archive; imagenet: Keras' classifier of "
            "the backbone.",
            show_default=False,
        ),
    ] = None,
    mirror: MirrorOption = None,
    steps: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Steps in total. Default: train_config.num_steps."),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Seed of first weights, order and chance.")
    ] = 0,
    evaluate_every: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Steps between evaluations. Default: a tenth, at least 100."
        ),
    ] = None,
    checkpoint_every: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Steps between checkpoints: the most to be lost."),
    ] = 500,
    keep: Annotated[
        int, typer.Option(min=1, metavar="N", help="Checkpoints to keep, besides the best one.")
    ] = 5,
    patience: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Stop early after N evaluations without a better one."
        ),
    ] = None,
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="Repeatable to the last bit, but slower.")
    ] = False,
    class_weights: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Give rare classes more weight: auto (by effective number), inverse (by "
            "frequency) or a file.",
            show_default=False,
        ),
    ] = None,
    teacher: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="Also learn from what a trained detector with the same label map says: a run, a "
            "checkpoint of one, or a SavedModel.",
            show_default=False,
        ),
    ] = None,
    optimizer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Instead of the config's: adamw, lion or rmsprop_decoupled, with numbers as in "
            "adamw,weight_decay=0.05. The learning rate stays the config's.",
            show_default=False,
        ),
    ] = None,
    schedule: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Instead of the config's learning rate: one_cycle,rate=0.01 or "
            "cosine_restarts,rate=0.01,period=1000.",
            show_default=False,
        ),
    ] = None,
    clip_by_group: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            metavar="NORM",
            help="Clip the gradient of each layer group to this length.",
            show_default=False,
        ),
    ] = None,
    prune: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Set this share of the weights to 0 while training, as in 0.5 or "
            "0.5,begin=200,end=1200: a smaller file once it is zipped.",
            show_default=False,
        ),
    ] = None,
    quantize: Annotated[
        bool,
        typer.Option(
            "--quantize",
            help="Train for integers of 8 bits: observe ranges in the first half of the steps, "
            "round kernels and activations in the second. Sets graph_rewriter.quantization.",
        ),
    ] = False,
    capsule_at: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            metavar="STEP",
            help="Keep all of a step in a file for `holdfast replay`. Can be repeated.",
            show_default=False,
        ),
    ] = None,
    profile_at: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="STEP",
            help="Trace some steps from this one on: where their time goes, as `holdfast profile`.",
            show_default=False,
        ),
    ] = None,
    precision: PrecisionOption = Precision.FLOAT32,
    accumulate: AccumulateOption = 1,
    rematerialize: RematerializeOption = False,
    memory: MemoryOption = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Plan to follow: plan.json of a run, or what `holdfast plan --json` printed.",
            show_default=False,
        ),
    ] = None,
    measure: MeasureOption = False,
    peer_timeout: Annotated[
        float,
        typer.Option(
            min=5.0,
            metavar="S",
            help="With TF_CONFIG: seconds to wait for another process, at the start and in a step.",
        ),
    ] = 600.0,
    rehearse: Annotated[
        bool,
        typer.Option(
            "--rehearse", help="First compute the worst batch of the data once, without learning."
        ),
    ] = False,
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
