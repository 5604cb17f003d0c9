"""What a run is made of: all that is needed to do it again, and what was predicted for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.runs.json_text import to_text

FORMAT = 1  # to be raised when older versions would misread the file


@dataclass(frozen=True, kw_only=True)
class RunManifest:
    """Plain values, known before the first step; only the memory measured comes later."""

    config: Mapping[str, Any]  # resolved, in protobuf's JSON form
    seed: int
    versions: Mapping[str, str]  # of packages, by name
    started: str  # ISO 8601 with zone
    facts: Mapping[str, Any] = field(default_factory=dict)  # of data and settings; not of the host
    plan: Mapping[str, Any] | None = None  # as in plan.json
    predicted_peak_bytes: int | None = None
    measured_peak_bytes: int | None = None


def manifest_text(manifest: RunManifest) -> str:
    """Write a manifest as JSON."""
    return to_text({"format": FORMAT, **asdict(manifest)}, indent=1) + "\n"


def read_manifest(text: str, source: str) -> RunManifest:
    """Read a manifest; HoldfastError naming the source if it is none. Unknown keys are ignored."""
    try:
        # Not from_text: the config spells infinite numbers as protobuf does, and stays so.
        values = json.loads(text)
        number = values["format"]
        known = {each.name for each in fields(RunManifest)}
        manifest = RunManifest(**{name: value for name, value in values.items() if name in known})
    except (ValueError, KeyError, TypeError, AttributeError):
        raise HoldfastError(
            f"{source} is not the manifest of a run.",
            fix="Give the folder that `holdfast train --run` made.",
        ) from None
    if number != FORMAT:
        raise HoldfastError(
            f"{source} has format {number}, and this version of Holdfast reads format {FORMAT}.",
            fix="Use the version of Holdfast that made the run, or a newer one.",
        )
    return manifest
