"""`holdfast train`: train by a config in a run folder, or go on with it."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import (
    AccumulateOption,
    ConfigArgument,
    JsonOption,
    MeasureOption,
    MemoryOption,
    Precision,
    PrecisionOption,
    RematerializeOption,
    SetOption,
)

if TYPE_CHECKING:
    from rich.console import Console

    from holdfast.training.loop import TrainingResult
    from holdfast.training.settings import TrainingSettings


def train(
    config: ConfigArgument,
    run: Annotated[
        Path,
        typer.Option(
            help="Folder of the run; one that exists is gone on with.", show_default=False
        ),
    ],
    steps: Annotated[
        int | None, typer.Option(min=1, help="How many in all. Default: train_config.num_steps.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides the first weights, order and chance.")] = 0,
    evaluate_every: Annotated[
        int | None, typer.Option(min=1, help="Steps. Default: a tenth of the training.")
    ] = None,
    checkpoint_every: Annotated[
        int, typer.Option(min=1, help="Steps; no more than these are ever lost.")
    ] = 500,
    keep: Annotated[int, typer.Option(min=1, help="Checkpoints, besides the best one.")] = 5,
    patience: Annotated[
        int | None,
        typer.Option(min=1, help="Stop after so many evaluations without a better one."),
    ] = None,
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="Repeatable to the last bit, and slower.")
    ] = False,
    class_weights: Annotated[
        str | None,
        typer.Option(
            metavar="auto|inverse|FILE",
            help="Weigh rare classes more: by effective number, inverse frequency, or a file.",
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
            help="A plan to follow: plan.json of a run, or what `holdfast plan --json` printed.",
            show_default=False,
        ),
    ] = None,
    measure: MeasureOption = False,
    assignments: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train the detector of a pipeline.config; stopped or killed, the same command goes on.

    The run folder holds config, checkpoints, events and TensorBoard files. Ctrl-C saves and
    leaves. A config that changed since the run was begun is refused. What does not fit into memory
    is computed in a way that does, with the same batch (see `holdfast plan`).

    Exit code: 0 the training came to its end, 1 it was interrupted or failed, 2 the command, a file
    or the config is wrong.

    Example: `holdfast train pipeline.config --run runs/one --steps 2000 --patience 3`
    """
    from holdfast.cli.overrides import parse_assignments
    from holdfast.cli.terminal import console, error_console
    from holdfast.memory.plan import load_plan
    from holdfast.training.settings import TrainingSettings
    from holdfast.units import parse_bytes

    terminal = error_console() if as_json else console()
    job = Job(
        config=config,
        overrides=parse_assignments(assignments or []),
        run=run,
        settings=TrainingSettings(
            steps=steps,
            seed=seed,
            precision=precision.value,
            accumulation=accumulate,
            rematerialize=("all",) if rematerialize else (),
            class_weights=class_weights,
            evaluate_every=evaluate_every,
            checkpoint_every=checkpoint_every,
            keep=keep,
            patience=patience,
            deterministic=deterministic,
            memory_bytes=None if memory is None else parse_bytes(memory),
            plan=None if plan is None else load_plan(plan),
            measures=measure,
        ),
    )
    _print_check(terminal, job)
    result = _trained(terminal, job)
    _end(terminal, result, as_json)


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to train, by which settings, and where."""

    config: Path
    overrides: dict[str, str]
    run: Path
    settings: TrainingSettings

    @property
    def folder(self) -> Path:
        """Where relative paths of the config lead from: of a run's own config, where it was."""
        from holdfast.runs.run import CONFIG_NAME, Run, is_run

        folder = self.config.parent
        is_of_run = self.config.name == CONFIG_NAME and is_run(folder)
        return Run.open(folder).config_folder if is_of_run else folder


def _print_check(terminal: Console, job: Job) -> None:
    """Print what the config says, and the doubts about it; errors are raised, all at once."""
    from holdfast.cli.terminal import problem_list, summary_panel
    from holdfast.config.check import check_config
    from holdfast.errors import ConfigError

    # Only here: in the run's config, num_steps stays what it was.
    length = {"train_config.num_steps": job.settings.steps} if job.settings.steps else {}
    report = check_config(job.config, job.overrides | length, job.folder)
    if not report.ok:
        raise ConfigError(str(job.config), report.errors)
    shown = [row for row in report.summary if row.label not in _ASIDE]
    terminal.print(summary_panel(str(job.config), shown))
    terminal.print(problem_list(report.warnings))


def _trained(terminal: Console, job: Job) -> TrainingResult:
    from holdfast.cli.quiet import load_strategy

    strategy = load_strategy()
    from holdfast.cli.terminal import print_error
    from holdfast.cli.train_data import print_data
    from holdfast.cli.train_report import TrainReporter
    from holdfast.config.load import load_config
    from holdfast.training.failure import TrainingFailedError
    from holdfast.training.loop import train as train_in_run

    config = load_config(job.config, job.overrides)
    evaluates = bool(config.eval_input_reader)
    try:
        print_data(terminal, config, job.folder)
        with TrainReporter(terminal, job.run, job.settings, evaluates=evaluates) as reporter:
            return train_in_run(
                config,
                job.run,
                settings=job.settings,
                folder=job.folder,
                reporter=reporter,
                strategy=strategy,
            )
    except TrainingFailedError as error:
        print_error(error)
        raise typer.Exit(1) from error
    except KeyboardInterrupt:
        typer.echo(f"Stopped at once: what {job.run} saved last is kept.", err=True)
        raise typer.Exit(1) from None


def _end(terminal: Console, result: TrainingResult, as_json: bool) -> None:
    from holdfast.cli.train_end import print_end, result_json
    from holdfast.training.loop import INTERRUPTED

    print_end(terminal, result, ["holdfast", *(each for each in sys.argv[1:] if each != "--json")])
    if as_json:
        typer.echo(json.dumps(result_json(result), indent=1))  # ASCII: any pipe can carry it
    raise typer.Exit(1 if result.ended == INTERRUPTED else 0)


# Of the summary of a config, what is in the names of its parts already or is told below.
_ASIDE = {"extractor", "neck", "head", "feature maps", "steps", "label map", "starts from"}
