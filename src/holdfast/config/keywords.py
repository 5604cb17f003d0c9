"""A message as keywords for the part that it configures."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Any

from holdfast.config.schema.fields import field_specs
from holdfast.config.schema.message import Message


def set_keywords(message: Message) -> dict[str, Any]:
    """Give the set fields: unset ones keep the part's own defaults. Enums go by name."""
    return _by_name(message, (name for name in message.fields_set if message.has(name)))


def all_keywords(message: Message, *without: str) -> dict[str, Any]:
    """Give every field, set or default, but those named. Enums go by name."""
    return _by_name(message, (name for name in field_specs(type(message)) if name not in without))


def _by_name(message: Message, names: Iterable[str]) -> dict[str, Any]:
    values = {name: getattr(message, name) for name in names}
    return {
        name: value.name if isinstance(value, IntEnum) else value for name, value in values.items()
    }
