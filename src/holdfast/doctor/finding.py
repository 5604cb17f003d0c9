"""What the doctor says: a finding, its evidence, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from holdfast.runs.json_text import JsonValue

# error: the training cannot work, or the evidence that it does not is strong. warning: it will
# probably be worse than it could be. note: worth knowing.
Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True, kw_only=True)
class Fix:
    """What to do: in words, as `--set` takes it, as a command to paste."""

    text: str
    set: Mapping[str, str] = field(default_factory=dict)  # field of the config -> value
    command: str | None = None


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that is wrong, or probably is, with the numbers that say so."""

    code: str
    severity: Severity
    what: str  # what is the case, in a sentence with its numbers
    why: str  # what it does to the training
    evidence: Mapping[str, JsonValue]  # name -> value; small tables are lists of mappings
    fix: Fix

    def document(self) -> dict[str, Any]:
        """Give the finding as JSON values; the keys are fixed, other tools read them.

        >>> fix = Fix(text="Lower it.", set={"train_config.batch_size": "8"})
        >>> found = Finding(
        ...     code="batch-large", severity="note", what="a", why="b", evidence={}, fix=fix
        ... )
        >>> found.document()["fix"]
        {'text': 'Lower it.', 'set': {'train_config.batch_size': '8'}, 'command': None}
        """
        return asdict(self)
