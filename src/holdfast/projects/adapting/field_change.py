"""A field of a config that is changed, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from holdfast.config.schema.message import Message
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.config.text.edit_text import edit_field
from holdfast.config.text.encode import encode
from holdfast.config.text.overrides import apply_overrides


@dataclass(frozen=True, kw_only=True)
class FieldChange:
    """A new value of a field; None: it is unset."""

    path: str
    before: Any
    after: Any
    why: str


def change(config: TrainEvalPipelineConfig, path: str, after: Any, why: str) -> list[FieldChange]:
    """Give the change of a field, or nothing if it has the value already, be it by default."""
    before = value_at(config, path)
    if after in (before, _default_at(config, path)):
        return []
    return [FieldChange(path=path, before=before, after=after, why=why)]


def value_at(config: Message, path: str) -> Any:
    """Give a field's value; None where it is not set. Paths have no indices."""
    value: Any = config
    for name in path.split("."):
        if value is None or not value.has(name):
            return None
        value = getattr(value, name)
    return value


def _default_at(config: Message, path: str) -> Any:
    """Give the value that a field has without being set; None where its message is not there."""
    parent, _, name = path.rpartition(".")
    message = value_at(config, parent) if parent else config
    if message is None or message.has(name):
        return None
    return getattr(message, name)


def changed(
    config: TrainEvalPipelineConfig, changes: Iterable[FieldChange]
) -> TrainEvalPipelineConfig:
    """Make the changes, in order."""
    after, problems = apply_overrides(config, {each.path: _given(each.after) for each in changes})
    assert not problems, problems
    return after


def changed_text(
    text: str, config: TrainEvalPipelineConfig, changes: Iterable[FieldChange]
) -> tuple[str, bool]:
    """Make the changes in the text that the config was read from.

    Returns:
        The text, and whether comments and order could be kept.
    """
    edited = text
    for each in changes:
        edited = edit_field(edited, each.path, each.after)
    read = decode(edited, TrainEvalPipelineConfig)
    if not read.problems and encode(read.message) == encode(config):
        return edited, True
    return encode(config), False


def _given(value: Any) -> Any:
    """Write a text that must not be taken for a literal as one."""
    return f'"{value}"' if isinstance(value, str) and value[:1] in ("'", '"') else value
