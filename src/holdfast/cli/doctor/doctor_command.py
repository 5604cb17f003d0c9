"""`holdfast doctor`: why a training will not learn, or does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.options import ImportOption, JsonOption, SetOption, UseOption


def doctor(
    config_or_run: Annotated[
        Path | None,
        typer.Argument(
            metavar="CONFIG|RUN", help="The pipeline.config, or a run's folder.", show_default=False
        ),
    ] = None,
    assignments: SetOption = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CODE,CODE",
            help="Look for these findings only. Can be repeated.",
            show_default=False,
        ),
    ] = None,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="CODE",
            help="Print the page about a finding: why it happens, how it is seen, what helps.",
            show_default=False,
        ),
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List all findings.")] = False,
    learning_rate: Annotated[
        bool,
        typer.Option(
            "--learning-rate",
            help="Find a learning rate by trying: a few steps whose rate rises, drawn as a curve.",
        ),
    ] = False,
    picture: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Where --learning-rate draws its curve."),
    ] = Path("learning-rate.png"),
    attempt: Annotated[
        str | None,
        typer.Option(
            "--try",
            metavar="CODE|set",
            help="Try the fix of a finding, or what --set says, in short trainings: as it is, with "
            "the fix, and with another seed.",
            show_default=False,
        ),
    ] = None,
    try_steps: Annotated[
        int | None,
        typer.Option(
            min=10,
            metavar="N",
            help="Steps of the range test, or of each training that is tried. Default: 100, 200.",
            show_default=False,
        ),
    ] = None,
    imports: ImportOption = None,
    use: UseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find out why a training will not learn, or does not: findings with evidence and a fix.

    Looks at a config and its data before a run, and at a run's folder during or after it, also one
    that was trained elsewhere. What could not be looked at is listed, with the reason. With
    --learning-rate it finds a rate by trying; with --try it measures what a fix gains.

    Exit code: 0 nothing is wrong that would stop the training, 1 a finding of severity error, no
    rate that learns, or a fix that does not help, 2 the command, a file or the config is wrong.

    Example: `holdfast doctor pipeline.config --only learning-rate-high,anchors-miss-boxes`
    """
    from holdfast.cli.quiet import import_parts, set_environment

    set_environment()
    import_parts(imports)
    if explain is not None or list_all:
        from holdfast.cli.doctor.doctor_pages import print_list, print_page

        print_list(as_json=as_json) if explain is None else print_page(explain, as_json=as_json)
        return
    from holdfast.cli.doctor.doctor_report import print_diagnosis
    from holdfast.cli.progress_bar import progress
    from holdfast.cli.set_option import parse_assignments
    from holdfast.doctor.diagnose import examine, open_case
    from holdfast.files import shown_path

    overrides = parse_assignments(assignments or [])
    given = {} if attempt == "set" else overrides  # else they are what is to be tried
    case = open_case(_given(config_or_run), given, use or (), progress)
    if learning_rate:
        from holdfast.cli.doctor.doctor_rate import find_rate

        find_rate(case, steps=try_steps, picture=picture, as_json=as_json)
    if attempt is not None:
        from holdfast.cli.doctor.doctor_trial import fix_to_try, try_fix

        fix = fix_to_try(case, attempt, overrides)
        try_fix(case, fix, steps=try_steps, as_json=as_json)
    codes = [code for text in only or () for code in text.split(",") if code]
    diagnosis = examine(case, only=codes)
    if as_json:
        typer.echo(json.dumps(diagnosis.document(), indent=1))
    else:
        print_diagnosis(diagnosis, title=shown_path(_given(config_or_run)))
    raise typer.Exit(1 if diagnosis.has_errors else 0)


def _given(config_or_run: Path | None) -> Path:
    from holdfast.errors import HoldfastError

    if config_or_run is None:
        raise HoldfastError(
            "There is nothing to look at.",
            fix="Give a pipeline.config or a run's folder; --list shows what can be found.",
        )
    return config_or_run
