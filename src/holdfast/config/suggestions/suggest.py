"""The `--set` options that would make a config ready on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.suggestions.change import Change, is_of
from holdfast.config.suggestions.found_data import for_classes, for_data
from holdfast.config.suggestions.named_data import NamedData, for_named_data
from holdfast.config.suggestions.search import Search
from holdfast.config.suggestions.weights import for_weights
from holdfast.config.summary import SummaryRow
from holdfast.config.text.overrides import apply_overrides
from holdfast.config.validate import validate
from holdfast.errors import Problem, errors_of

_ROUNDS = 3  # one remedy may uncover the next problem


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """Options, what each is about, and what no option can fix."""

    settings: dict[str, str] = field(default_factory=dict)  # field -> value, as --set takes them
    rows: tuple[SummaryRow, ...] = ()
    remaining: tuple[Problem, ...] = ()  # errors
    notes: tuple[str, ...] = ()


def suggest(
    config: TrainEvalPipelineConfig, folder: Path, data: NamedData | None = None
) -> Suggestion:
    """Find options that make a config ready, by what lies near it or for data of the user's.

    folder: the config's, for relative paths. A config without errors needs none, unless data is
    given.
    """
    errors = errors_of(validate(config, folder))
    if not errors and data is None:
        return Suggestion()
    search = Search(config, folder, errors)
    changes = [*(for_named_data(config, data) if data else for_data(search)), *for_weights(search)]
    if data is None:
        changes += for_classes(_changed(config, changes), folder)
    for _ in range(_ROUNDS):
        changes += _remedies(validate(_changed(config, changes), folder), changes)
    removed = [each.path for each in changes if each.path.endswith("]") and not each.value]
    changes = [each for each in changes if each.path in removed or not is_of(each.path, removed)]
    remaining = errors_of(validate(_changed(config, changes), folder))
    settings = {each.path: each.value for each in changes}
    if data is not None and not data.exists:
        remaining = tuple(each for each in remaining if not is_of(each.path, settings))
    return Suggestion(
        settings=settings,
        rows=tuple(SummaryRow(each.label, each.text) for each in changes if each.text),
        remaining=remaining,
        notes=tuple(search.notes),
    )


def _changed(config: TrainEvalPipelineConfig, changes: Iterable[Change]) -> TrainEvalPipelineConfig:
    changed, problems = apply_overrides(config, {each.path: each.value for each in changes})
    assert not problems, problems
    return changed


def _remedies(problems: Iterator[Problem], changes: Iterable[Change]) -> list[Change]:
    """Take the values that errors name themselves, except for fields that are changed already."""
    known = {each.path for each in changes}
    return [
        Change(path, value, "setting", "" if index else f"{problem.path}: {problem.message}")
        for problem in errors_of(problems)
        for index, (path, value) in enumerate(problem.remedy)
        if path not in known
    ]
