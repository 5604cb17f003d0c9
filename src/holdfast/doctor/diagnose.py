"""Look at a config or a run with every check, and list what was found."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.config.load import load_config
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.doctor.case import Case
from holdfast.doctor.check import CHECKS, Check, all_checks
from holdfast.doctor.finding import Finding
from holdfast.doctor.lazy_part import MissingError
from holdfast.doctor.order import urgency
from holdfast.errors import HoldfastError
from holdfast.progress import Watch, unwatched
from holdfast.runs.fetched_run import local_folder
from holdfast.runs.run import EVENTS_NAME, MANIFEST_NAME


class NotLookedAt(NamedTuple):
    """A check that could not be made, and why."""

    code: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What was found, most severe first, and what was looked for."""

    findings: tuple[Finding, ...]
    looked_at: tuple[str, ...]  # codes
    not_looked_at: tuple[NotLookedAt, ...]

    @property
    def has_errors(self) -> bool:
        """Tell whether a finding says that the training cannot work."""
        return any(finding.severity == "error" for finding in self.findings)

    def document(self) -> dict[str, Any]:
        """Give the diagnosis as JSON values; the keys are fixed, other tools read them."""
        return {
            "findings": [finding.document() for finding in self.findings],
            "looked_at": list(self.looked_at),
            "not_looked_at": [each._asdict() for each in self.not_looked_at],
        }


def diagnose(
    config_or_run: str | os.PathLike[str] | TrainEvalPipelineConfig,
    *,
    only: Collection[str] = (),
) -> tuple[Finding, ...]:
    """Say what is wrong with a config and its data, or with a run, also one that still runs.

    Args:
        config_or_run: A config, its file, or the folder of a run.
        only: Codes of the findings to look for; all, if there is none.

    Returns:
        The findings, most severe first; among equals, causes before consequences.

    Raises:
        ConfigError: The file is not a config that can be read.
        HoldfastError: There is no such file or run, or no finding of a code.

    Example:
        >>> findings = holdfast.diagnose("pipeline.config", only=["learning-rate-high"])
        >>> [finding.code for finding in findings]
        []
    """
    return examine(open_case(config_or_run), only=only).findings


def open_case(
    config_or_run: str | os.PathLike[str] | TrainEvalPipelineConfig,
    overrides: Mapping[str, Any] | None = None,
    use: Iterable[str] = (),
    watch: Watch = unwatched,
) -> Case:
    """Open what is to be looked at: a config, or a run's folder.

    overrides, use: of a config, as for `load_config`.
    """
    if isinstance(config_or_run, TrainEvalPipelineConfig):
        return Case(config=config_or_run, watch=watch)
    path = local_folder(config_or_run)
    if is_run_folder(path):
        if overrides or use:
            raise HoldfastError(
                "A run's config is what it was trained with: it is not overridden.",
                fix=f"Give the config, {path / 'pipeline.config'}, instead of the run.",
            )
        return Case(run_path=path, watch=watch)
    config = load_config(path, overrides, use)
    return Case(config=config, config_path=path, watch=watch)


def is_run_folder(path: Path) -> bool:
    """Tell whether a folder is a run, also one of which the manifest was lost."""
    return any((path / name).is_file() for name in (MANIFEST_NAME, EVENTS_NAME))


def examine(case: Case, *, only: Collection[str] = ()) -> Diagnosis:
    """Ask every check, or those of some codes; none of them can end the diagnosis."""
    findings: list[Finding] = []
    looked_at: list[str] = []
    not_looked_at: list[NotLookedAt] = []
    for each in _chosen(only):
        try:
            found = _found(each, case)
        except MissingError as missing:
            not_looked_at.append(NotLookedAt(each.code, missing.message))
        except Exception as error:  # of a check that is wrong: the others are worth having
            not_looked_at.append(NotLookedAt(each.code, f"{type(error).__name__}: {error}"))
        else:
            looked_at.append(each.code)
            findings += found
    return Diagnosis(
        findings=tuple(sorted(findings, key=urgency)),
        looked_at=tuple(looked_at),
        not_looked_at=tuple(not_looked_at),
    )


def _chosen(only: Collection[str]) -> tuple[Check, ...]:
    every = all_checks()
    return tuple(CHECKS[code] for code in only) if only else every


def _found(check: Check, case: Case) -> list[Finding]:
    for need in check.needs:
        attrgetter(need)(case)
    return list(check.look(case))
