"""`holdfast check`: read and validate a pipeline.config, and say what would make it ready."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.options import ConfigArgument, ImportOption, JsonOption, SetOption, UseOption

if TYPE_CHECKING:
    from holdfast.config.check_config import CheckReport


def check(
    config: ConfigArgument,
    assignments: SetOption = None,
    imports: ImportOption = None,
    use: UseOption = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Also check this data (TFRecords or labeled images), and suggest the options that "
            "make the config use it.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Validate a pipeline.config, and list every mistake with its line.

    If the config is not ready to train, the --set options that would make it ready are printed,
    found from the files around it or, with --data, for that data.

    Exit code: 0 ready to train, 1 readable but not ready, 2 not readable.

    Example: `holdfast check pipeline.config --set train_config.batch_size=8`
    """
    from holdfast.cli.check.check_advice import advice_json, advise, print_advice
    from holdfast.cli.quiet import import_parts
    from holdfast.cli.set_option import parse_assignments
    from holdfast.config.check_config import check_config, report_json
    from holdfast.files import shown_path

    import_parts(imports)
    overrides = parse_assignments(assignments or [])
    report = check_config(config, overrides, use=use or ())
    named = None
    if data is not None and report.config is not None:
        from holdfast.cli.check.check_data import look_at_data

        named = look_at_data(data, report.config, report.source.parent)
        report = report.with_problems((*named.problems, *named.as_it_is))
    advice = advise(report, overrides, named)
    if as_json:
        document: dict[str, Any] = report_json(report) | {"suggested": advice_json(advice)}
        typer.echo(json.dumps(document, indent=1))  # ASCII: any pipe can carry it
    else:
        print_report(report, title=shown_path(report.source))
        print_advice(advice)
    raise typer.Exit(0 if report.ok else 1 if report.config is not None else 2)


def print_report(report: CheckReport, title: str) -> None:
    """Print the panel, the problems and the verdict."""
    from rich.text import Text

    from holdfast.cli.terminal import console, problem_list, summary_panel

    terminal = console()
    if report.summary:
        terminal.print(summary_panel(title, report.summary))
    terminal.print(problem_list([*report.errors, *report.warnings]))
    errors, warnings = len(report.errors), len(report.warnings)
    if report.ok:
        verdict = Text("Ready to train", style="bold green")
        verdict.append(f", {_count(warnings, 'warning')}" if warnings else "")
    else:
        verdict = Text(_count(errors, "error"), style="bold red")
        verdict.append(f", {_count(warnings, 'warning')}" if warnings else "")
        verdict.append("" if report.summary else f" in {title}", style="not bold")
    terminal.print(verdict)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
