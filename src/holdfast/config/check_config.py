"""Check a pipeline.config: read it, judge it, and say what it is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from holdfast.config.load import placed, read_config
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.summary import SummaryRow, summarize
from holdfast.config.text.encode import to_json
from holdfast.config.validate import validate
from holdfast.errors import ConfigError, Problem, errors_of, warnings_of


@dataclass(frozen=True, kw_only=True)
class CheckReport:
    """The answer of `holdfast check`."""

    source: Path
    config: TrainEvalPipelineConfig | None  # None when it cannot be read
    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    summary: tuple[SummaryRow, ...]
    readable: TrainEvalPipelineConfig | None = None  # what of it can be read, beside its errors

    @property
    def ok(self) -> bool:
        """Tell whether nothing stands in the way of training."""
        return not self.errors

    def with_problems(self, problems: Iterable[Problem]) -> CheckReport:
        """Add what was found out elsewhere, such as in the data."""
        every = (*self.errors, *self.warnings, *problems)
        return replace(self, errors=errors_of(every), warnings=warnings_of(every))


def check_config(
    path: str | os.PathLike[str],
    overrides: Mapping[str, Any] | None = None,
    folder: Path | None = None,
    use: Iterable[str] = (),
) -> CheckReport:
    """Check a config and everything it names; never raises for what is in a file.

    folder: where relative paths lead to, by default the config's own. use: as for `load_config`.
    """
    try:
        source = read_config(path, overrides, use)
        unreadable = source.problems
    except ConfigError as error:
        source, unreadable = None, error.problems
    if source is None or unreadable:
        return CheckReport(
            source=Path(path),
            config=None,
            errors=unreadable,
            warnings=(),
            summary=(),
            readable=source.message if source else None,
        )
    folder = folder or source.path.parent
    judged = [
        each if _is_in(each.path, overrides or ()) else placed(each, source.positions)
        for each in validate(source.message, folder)
    ]
    return CheckReport(
        source=source.path,
        config=source.message,
        errors=errors_of(judged),
        warnings=warnings_of(judged),
        summary=summarize(source.message, folder),
        readable=source.message,
    )


def _is_in(path: str, overridden: Iterable[str]) -> bool:
    """Tell whether a field was overridden: what is wrong with it is on no line of the file."""
    return any(path == each or path.startswith((f"{each}.", f"{each}[")) for each in overridden)


def report_json(report: CheckReport) -> dict[str, Any]:
    """Give the report as the document that `--json` prints."""
    return {
        "ok": report.ok,
        "errors": [_problem_json(problem) for problem in report.errors],
        "warnings": [_problem_json(problem) for problem in report.warnings],
        "config": to_json(report.config) if report.config is not None else None,
        "summary": [row._asdict() for row in report.summary],
    }


def _problem_json(problem: Problem) -> dict[str, Any]:
    return {
        "line": problem.line,
        "column": problem.column,
        "path": problem.path,
        "message": problem.message,
        "fix": problem.fix,
        "set": dict(problem.remedy),
    }
