"""What a preflight looks at, and what it says."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from holdfast.cloud.machine_types import Machine
from holdfast.cloud.mounts import bucket_of
from holdfast.config.check_config import CheckReport
from holdfast.config.paths import expand
from holdfast.config.schema.walk import walk

_PATHS = {"input_path", "label_map_path", "fine_tune_checkpoint"}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One thing that was looked at; `is_unverified`: only the real cloud can show it."""

    name: str
    ok: bool
    what: str
    fix: str = ""
    is_unverified: bool = False


@dataclass(frozen=True, kw_only=True)
class NamedPath:
    """A path of the config: as written, and with its variables replaced, as a gs:// place."""

    field: str
    text: str

    @property
    def place(self) -> str:
        """Where it leads; a mount of a bucket is that bucket."""
        expanded = expand(self.text)
        return f"gs://{expanded[5:]}" if expanded.startswith("/gcs/") else expanded


@dataclass(frozen=True, kw_only=True)
class Flight:
    """A job to be looked at, and until when."""

    report: CheckReport
    machine: Machine
    workers: int
    run: str | None
    region: str
    checkpoint_every: int
    step_seconds: float | None
    is_spot: bool
    assignments: tuple[str, ...]  # of fields of the config, as --set takes them
    deadline: float  # of time.monotonic

    @property
    def folder(self) -> Path:
        """Where the config lies."""
        return self.report.source.parent

    @property
    def runs_in_cloud(self) -> bool:
        """Tell whether the job runs where the files of this machine are not."""
        return self.run is not None and self.run.startswith(("gs://", "/gcs/"))

    @property
    def paths(self) -> tuple[NamedPath, ...]:
        """All paths of the config, or of what can be read of it."""
        if self.report.readable is None:
            return ()
        return tuple(
            NamedPath(field=each.path, text=each.value)
            for each in walk(self.report.readable)
            if each.spec.name in _PATHS and isinstance(each.value, str) and each.value
        )

    @property
    def buckets(self) -> tuple[str, ...]:
        """All proper buckets that config and run name."""
        places = [*(each.place for each in self.paths), self.run or ""]
        return tuple(dict.fromkeys(filter(None, map(_bucket, places))))

    def seconds_left(self, most: float = 1e9) -> float:
        """Give the time that a look may take, at least a tenth of a second."""
        return max(0.1, min(most, self.deadline - time.monotonic()))


def _bucket(place: str) -> str | None:
    from holdfast.errors import HoldfastError

    try:
        return bucket_of(place)
    except HoldfastError:
        return None
