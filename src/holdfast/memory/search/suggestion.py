"""A change of the config that would save memory, and may cost accuracy: it is only suggested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.units import bytes_text


@dataclass(frozen=True, kw_only=True)
class MemorySuggestion:
    """What to change, as options that can be typed, and what it saves."""

    text: str  # what it means
    options: Mapping[str, str]  # fields of the config, by path, and their new values
    saved_bytes: int | None = None  # of the peak; None: not known

    def __str__(self) -> str:
        """Say it in a line."""
        saved = f" (saves {bytes_text(self.saved_bytes)})" if self.saved_bytes else ""
        typed = " ".join(f"--set {path}={value}" for path, value in self.options.items())
        return f"{self.text}{saved}: {typed}"

    def document(self) -> dict[str, Any]:
        """Give it as JSON knows it."""
        return {"text": self.text, "set": dict(self.options), "saved_bytes": self.saved_bytes}


def read_suggestion(document: Mapping[str, Any]) -> MemorySuggestion:
    """Read what `MemorySuggestion.document` wrote."""
    return MemorySuggestion(
        text=document["text"], options=document["set"], saved_bytes=document["saved_bytes"]
    )
