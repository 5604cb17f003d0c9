"""`holdfast search`: many short trainings, to find settings that train well."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import (
    ConfigArgument,
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
    from rich.console import Console

    from holdfast.tuning.search_loop import SearchRequest
    from holdfast.tuning.search_space import Dimension
    from holdfast.tuning.search_study import SearchStudy

_RUNGS = 9  # evaluations of a trial: Hyperband decides after 1 and 3 of them
_METRIC = "DetectionBoxes_Precision/mAP"


def search(
    config: ConfigArgument,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Folder of the search. An existing search is resumed, or joined.",
            show_default=False,
        ),
    ],
    over: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=RANGE",
            help="What to search over: FIELD=log:1e-4..1e-1, FIELD=1..10, FIELD=a,b, "
            "learning-rate=log:1e-4..1e-1, or by name anchors, augmentation, class-weights, "
            "optimizer, schedule. Can be repeated.",
            show_default=False,
        ),
    ] = None,
    trials: Annotated[int, typer.Option(min=1, metavar="N", help="Number of trials.")] = 30,
    learning_rate_range: Annotated[
        bool,
        typer.Option(
            "--learning-rate-range",
            help="First find the range of learning rates by the doctor's range test.",
        ),
    ] = False,
    metric: Annotated[
        str,
        typer.Option(metavar="NAME", help="Metric of the evaluation. Of Loss/… the lowest wins."),
    ] = _METRIC,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Steps of a trial. Default: train_config.num_steps.",
            show_default=False,
        ),
    ] = None,
    evaluate_every: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Steps between evaluations, after which hopeless trials are stopped. Default: a "
            "ninth of the steps.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Seed of the search and of every trial.")
    ] = 0,
    memory: MemoryOption = None,
    precision: PrecisionOption = Precision.FLOAT32,
    assignments: SetOption = None,
    imports: ImportOption = None,
    use: UseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search for settings that train well, in many short trainings.

    Each trial is a run in DIR/trials. Trials that fall behind are stopped at an evaluation; those
    that do not fit into memory, or fail, are skipped. After a stop or a kill, the same command
    resumes; started several times at once, it shares the work. At the end there are a table, a
    picture, and the best settings as DIR/best.config.

    Exit code: 0 all trials are done, 1 it was interrupted or no trial was trained to its end, 2
    the command, a file or the config is wrong.

    Example: `holdfast search pipeline.config --over learning-rate=log:1e-4..1e-1 --over
    train_config.batch_size=4,8 --trials 30 --steps 900 --out searches/rate`
    """
    from holdfast.cli.quiet import import_parts
    from holdfast.cli.search.search_report import PrintingReporter
    from holdfast.cli.set_option import parse_assignments
    from holdfast.cli.terminal import console, error_console
    from holdfast.files import refuse_remote
    from holdfast.tuning.search_loop import SearchRequest, open_study
    from holdfast.tuning.search_loop import search as search_trials
    from holdfast.tuning.trial_process import SearchStoppedError

    refuse_remote(out, "the folder of a search")
    import_parts(imports)
    overrides = parse_assignments(assignments or [])
    length = steps or _length(config, overrides, use or [])
    draft = SearchRequest(
        config=config,
        overrides=overrides,
        space=(),
        out=out,
        trials=trials,
        metric=metric,
        steps=length,
        evaluate_every=evaluate_every or max(length // _RUNGS, 1),
        seed=seed,
        use=tuple(use or ()),
        plan_options=_plan_options(precision.value, memory, imports or [], use or []),
    )
    terminal = error_console() if as_json else console()
    request = replace(draft, space=_space(draft, over or [], learning_rate_range, terminal))
    study = open_study(request)
    terminal.print(f"searching over {', '.join(map(str, request.space))}", soft_wrap=True)
    try:
        with _stoppable():
            search_trials(request, study, PrintingReporter(terminal, request))
    except (SearchStoppedError, KeyboardInterrupt):
        terminal.print("Stopped, and saved. The same command goes on with the search.")
        raise typer.Exit(1) from None
    _end(terminal, request, study, as_json)


def _length(config: Path, overrides: dict[str, str], use: list[str]) -> int:
    from holdfast.config.load import load_config

    train = load_config(config, overrides, use).train_config
    if train is None or not train.num_steps:
        raise HoldfastError(
            "The config does not say how long to train.",
            fix="Set train_config.num_steps, or give --steps.",
        )
    return train.num_steps


def _plan_options(
    precision: str, memory: str | None, imports: list[str], use: list[str]
) -> tuple[str, ...]:
    """Write what is passed on to `holdfast plan` and `holdfast train`."""
    given = [("--precision", precision), *(("--import", each) for each in imports)]
    given += [("--use", each) for each in use]
    given += [("--memory", memory)] if memory is not None else []
    return tuple(part for pair in given for part in pair)


def _space(
    draft: SearchRequest, over: list[str], tests_range: bool, terminal: Console
) -> tuple[Dimension, ...]:
    """Read what is searched over; the range test runs in here, when all else is legal."""
    from holdfast.tuning.narrowed_range import narrowed, range_answer
    from holdfast.tuning.search_loop import check_request
    from holdfast.tuning.search_space import LEARNING_RATE, parse_space, rate_path
    from holdfast.tuning.trial_settings import curve_of

    curve = curve_of(draft.base(), draft.steps)
    space = parse_space(over, curve)
    if not tests_range:
        return space
    path = rate_path(curve)
    if space:
        check_request(replace(draft, space=space))
    terminal.print("range test: some steps whose learning rate rises …")
    given = [part for each in draft.overrides.items() for part in ("--set", "=".join(each))]
    options = zip(draft.plan_options[::2], draft.plan_options[1::2], strict=True)
    parts = [part for pair in options if pair[0] in ("--import", "--use") for part in pair]
    tested = range_answer([str(draft.config), *given, *parts], draft.out)
    terminal.print(f"range test: a rate of {tested.proposed:.2g} is proposed")
    return narrowed(space, path, LEARNING_RATE, tested)


@contextmanager
def _stoppable() -> Iterator[None]:
    """Take SIGTERM for Ctrl-C."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(terminal: Console, request: SearchRequest, study: SearchStudy, as_json: bool) -> None:
    from holdfast.cli.search.search_report import print_search
    from holdfast.tuning.search_result import search_document, write_best, write_picture

    best = write_best(request, study)
    picture = write_picture(request, study)
    if as_json:
        document = search_document(request, study, best) | {"picture": str(picture)}
        typer.echo(json.dumps(document, indent=1))
    else:
        print_search(terminal, request, study, best, picture)
    raise typer.Exit(0 if best is not None else 1)
