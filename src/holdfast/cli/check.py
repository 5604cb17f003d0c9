"""`holdfast check`: read and validate a pipeline.config."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

from holdfast.cli.options import ConfigArgument, JsonOption, SetOption

if TYPE_CHECKING:
    from holdfast.config.check import CheckReport


def check(
    config: ConfigArgument,
    assignments: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read a pipeline.config, say what it is, and list every mistake with its line.

    Exit code: 0 fine, 1 readable but not trainable as it is, 2 not readable.

    Example: `holdfast check pipeline.config --set train_config.batch_size=8`
    """
    from holdfast.cli.overrides import parse_assignments
    from holdfast.config.check import check_config, report_json

    report = check_config(config, parse_assignments(assignments or []))
    if as_json:
        typer.echo(json.dumps(report_json(report), indent=1))  # ASCII: any pipe can carry it
    else:
        print_report(report, title=str(report.source))
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
