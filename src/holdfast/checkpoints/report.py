"""What became of a checkpoint: which of its variables went where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


class ImpliedValue(NamedTuple):
    """A variable that a checkpoint does not hold, and what it has to be for what it holds."""

    name: str  # that was looked for
    variable: Any
    value: float  # of all its entries


@dataclass(frozen=True, kw_only=True)
class Report:
    """What was loaded and what was not.

    Every name in the checkpoint is in exactly one of loaded, mismatched, unused and other.
    """

    loaded: tuple[str, ...]
    mismatched: tuple[str, ...]  # another shape: another number of classes, say
    unused: tuple[str, ...]  # of a model, but not of what was to be filled
    other: tuple[str, ...]  # optimizer, moving averages, quantizer, steps
    missing: tuple[str, ...]  # names that were looked for and are not in the checkpoint
    variables: Mapping[str, Any]  # name of a loaded one -> the Keras variable that has it now
    implied: tuple[ImpliedValue, ...] = ()  # what is said of others by what was loaded
    changes: tuple[str, ...] = ()  # what of the values is not as in the checkpoint, and why

    @property
    def is_whole(self) -> bool:
        """Whether checkpoint and detector have the same variables."""
        return not (self.mismatched or self.unused or self.missing)

    def __str__(self) -> str:
        """Count.

        >>> print(Report(loaded=("a",), mismatched=(), unused=("b",), other=(), missing=(),
        ...              variables={}))
        1 variable loaded, 1 unused
        """
        count = len(self.loaded)
        others = [f"{len(names)} {kind}" for kind, names in self._failures() if names]
        loaded = f"{count} variable{'s' if count != 1 else ''} loaded"
        return "; ".join([", ".join([loaded, *others]), *self.changes])

    def _failures(self) -> list[tuple[str, tuple[str, ...]]]:
        return [
            ("of another shape", self.mismatched),
            ("missing", self.missing),
            ("unused", self.unused),
        ]
