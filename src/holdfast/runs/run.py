"""A run: one folder that holds everything about one training."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.files import refuse_remote, write_text
from holdfast.runs.difference import differences
from holdfast.runs.events import Event, EventLog, read_events
from holdfast.runs.json_text import JsonValue, to_text
from holdfast.runs.lock import LOCK_NAME, RunLock
from holdfast.runs.manifest import RunManifest, manifest_text, read_manifest

MANIFEST_NAME = "manifest.json"
PLAN_NAME = "plan.json"
CONFIG_NAME = "pipeline.config"
EVENTS_NAME = "events.jsonl"
CHECKPOINTS_NAME = "checkpoints"
CAPSULES_NAME = "capsules"
STEPS = "steps"  # among the facts: how many the training is to have, also where --steps said so
PART_CHOICES = "parts"  # among the facts: as --use takes them
CONFIG_FOLDER = "config_folder"  # among the facts: where the config came from, from the run on


def is_run(path: str | Path) -> bool:
    """Tell whether a folder is a run. One whose making was interrupted is none yet."""
    return (Path(path) / MANIFEST_NAME).is_file()


class Run:
    """A run's folder: `create` and `resume` give it to one process to train in, `open` to read."""

    def __init__(self, path: Path, manifest: RunManifest, lock: RunLock | None = None) -> None:
        self.path = path
        self.manifest = manifest
        self._lock = lock

    @classmethod
    def create(cls, path: str | Path, manifest: RunManifest, config_text: str) -> Run:
        """Make a new run, and lock it.

        The folder must be missing or empty, or hold no more than a making that was interrupted.
        """
        refuse_remote(path, "a run")
        folder = Path(path)
        _refuse_foreign(folder)
        run = cls(folder, manifest, RunLock(folder))
        try:
            run._write_first(config_text)
        except BaseException:
            run.close()
            raise
        return run

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """Open a run to read it, also while another process trains in it."""
        folder = Path(path)
        if not is_run(folder):
            raise HoldfastError(
                f"{folder} is not a run: it has no {MANIFEST_NAME}.",
                fix="Give the folder that `holdfast train --run` made.",
            )
        text = (folder / MANIFEST_NAME).read_text(encoding="utf-8", errors="replace")
        return cls(folder, read_manifest(text, str(folder / MANIFEST_NAME)))

    @classmethod
    def resume(cls, path: str | Path) -> Run:
        """Open a run to resume it: lock it, and repair what a kill may have left."""
        run = cls.open(path)  # before the lock: a folder that is not a run gets no lock file
        run._lock = RunLock(run.path)
        run.manifest = cls.open(path).manifest  # as the process that trained before left it
        run._remove_temporaries()
        run._write_plan()
        return run

    @property
    def config_path(self) -> Path:
        """The resolved config."""
        return self.path / CONFIG_NAME

    @property
    def config_folder(self) -> Path:
        """Where the run's config came from: relative paths in it lead from there."""
        folder = str(self.manifest.facts.get(CONFIG_FOLDER, "."))
        return Path(os.path.normpath(self.path / folder))

    @property
    def part_choices(self) -> tuple[str, ...]:
        """Parts of a user's own that the config has no field for, as --use takes them."""
        return tuple(self.manifest.facts.get(PART_CHOICES) or ())

    @property
    def plan_path(self) -> Path:
        """The memory plan, missing if there is none."""
        return self.path / PLAN_NAME

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints; missing before the first one."""
        return self.path / CHECKPOINTS_NAME

    @property
    def tensorboard(self) -> Path:
        """The folder of TensorBoard's files; missing before the first one."""
        return self.path / "tensorboard"

    @property
    def pictures(self) -> Path:
        """The folder of what was found beside what is there; missing before an evaluation."""
        return self.path / "pictures"

    @property
    def capsules(self) -> Path:
        """The folder of steps that were kept whole; missing before the first one."""
        return self.path / CAPSULES_NAME

    @cached_property
    def events(self) -> EventLog:
        """The end of the events file to write to; the run must have been created or resumed."""
        self._must_be_locked()
        return EventLog(self.path / EVENTS_NAME)

    def read_events(self) -> Iterator[Event]:
        """Yield what happened so far, one by one."""
        return read_events(self.path / EVENTS_NAME)

    def differences(self, config: JsonValue) -> tuple[str, ...]:
        """List what differs between the run's config and this one, in protobuf's JSON form."""
        return differences(self.manifest.config, config)

    def update(self, **changes: Any) -> None:
        """Replace fields of the manifest, e.g. `measured_peak_bytes` or `plan`."""
        self._must_be_locked()
        self.manifest = replace(self.manifest, **changes)
        # A kill between the two is repaired by `resume`: the manifest counts.
        write_text(self.path / MANIFEST_NAME, manifest_text(self.manifest))
        self._write_plan()

    def discard(self) -> None:
        """Delete a run in which nothing came to be; a folder that others use too stays."""
        self._must_be_locked()
        for folder in (self.checkpoints, self.tensorboard, self.pictures, self.capsules):
            shutil.rmtree(folder, ignore_errors=True)
        # The manifest first: without it the folder is no run.
        for name in (MANIFEST_NAME, PLAN_NAME, CONFIG_NAME, EVENTS_NAME, LOCK_NAME):
            (self.path / name).unlink(missing_ok=True)
        self.close()
        with suppress(OSError):  # it is not empty
            self.path.rmdir()

    def close(self) -> None:
        """Let another process train in the run; closing twice does nothing."""
        if "events" in self.__dict__:
            self.events.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _must_be_locked(self) -> None:
        if self._lock is None:
            raise HoldfastError(
                f"The run {self.path} is open to be read, not to be written.",
                fix="Open it with Run.resume.",
            )

    def _write_first(self, config_text: str) -> None:
        if is_run(self.path):
            raise HoldfastError(
                f"{self.path} is a run already.",
                fix="Resume it with its own config, or give this training another --run.",
            )
        write_text(self.config_path, config_text)
        self._write_plan()
        # Last: with it the folder is a run.
        write_text(self.path / MANIFEST_NAME, manifest_text(self.manifest))

    def _write_plan(self) -> None:
        plan = self.manifest.plan
        if plan is None:
            self.plan_path.unlink(missing_ok=True)
        else:
            write_text(self.plan_path, to_text(plan, indent=1) + "\n")

    def _remove_temporaries(self) -> None:
        for name in (MANIFEST_NAME, PLAN_NAME, CONFIG_NAME, EVENTS_NAME):
            for leftover in self.path.glob(f".{name}.*"):
                leftover.unlink(missing_ok=True)
        for leftover in self.capsules.glob(".*"):
            leftover.unlink(missing_ok=True)


def _refuse_foreign(folder: Path) -> None:
    """Make the folder; nothing that we did not put there may be in it, or we would overwrite it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HoldfastError(
            f"The folder {folder} cannot be made: {error.strerror}.", fix="Give another --run."
        ) from error
    begun = {CONFIG_NAME, PLAN_NAME} if (folder / LOCK_NAME).exists() else set()
    found = sorted(
        name for name in os.listdir(folder) if name not in begun and not name.startswith(".")
    )
    if found and MANIFEST_NAME not in found:
        raise HoldfastError(
            f"{folder} is not empty, and not a run: it holds {', '.join(found[:3])}.",
            fix="Give a new or empty folder as --run.",
        )
