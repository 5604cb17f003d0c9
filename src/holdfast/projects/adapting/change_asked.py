"""The changes that findings of the doctor ask for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.overrides import apply_overrides
from holdfast.projects.adapting.field_change import FieldChange, change, value_at


class AskedChange(NamedTuple):
    """A field that a finding would set, its value as `--set` takes it, and what was found."""

    path: str
    value: str
    why: str


# Looks at a config, and says what should be set in it.
Ask = Callable[[TrainEvalPipelineConfig], Iterable[AskedChange]]


def nothing_asked(config: TrainEvalPipelineConfig) -> Iterable[AskedChange]:
    """Find nothing."""
    return ()


def asked_changes(
    config: TrainEvalPipelineConfig, asked: Iterable[AskedChange], known: Collection[str]
) -> Iterator[FieldChange]:
    """Set what is asked for, but for fields that were decided already and elements of lists."""
    for path, text, why in asked:
        if path in known or "[" in path:
            continue
        after, problems = apply_overrides(config, {path: text})
        if not problems:
            yield from change(config, path, value_at(after, path), why)
