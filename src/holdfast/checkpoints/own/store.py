"""The checkpoints of a run as it writes them: whole or not there, rotating, the best one kept."""

from __future__ import annotations

import errno
import itertools
import math
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.checkpoints.own import saved_checkpoints
from holdfast.checkpoints.own.bundle import (
    DamagedCheckpointError,
    UnreadableCheckpointError,
    sync,
    unwritable,
    write_bundle,
)
from holdfast.checkpoints.own.saved_checkpoints import (
    DOCUMENT_NAME,
    GROUPS,
    REPLACED,
    TENSORS_NAME,
    Checkpoint,
    Restored,
)
from holdfast.errors import HoldfastError
from holdfast.files import write_text
from holdfast.runs.json_text import JsonValue

DAMAGED_NAME = "damaged"  # a folder beside the checkpoints
_SAVING, _DELETED = ".saving-", ".deleted-"


class CheckpointStore:
    """A folder of checkpoints to write to; one at a time, which the run's lock ensures.

    A kill at any moment leaves the checkpoints that were there, or those and the new one. To read
    the checkpoints of a run that may be training, use the functions of `saved_checkpoints`: opening
    a store removes what an interrupted writer left behind.
    """

    def __init__(self, folder: str | Path, keep: int = 5, *, higher_is_better: bool = True) -> None:
        if keep < 1:
            raise HoldfastError(
                f"{keep} checkpoints cannot be kept.", fix="Keep at least one: --keep 1."
            )
        self.folder = Path(folder)
        self.keep = keep
        self.higher_is_better = higher_is_better
        self._saved_step: int | None = None
        self.folder.mkdir(parents=True, exist_ok=True)
        self._clean()

    def save(
        self,
        step: int,
        tensors: Mapping[str, Any],
        extra: Mapping[str, JsonValue] | None = None,
        metric: float | None = None,
    ) -> Checkpoint:
        """Write a checkpoint, then remove those that are too many.

        tensors: name -> tensor or variable; names start with model/, optimizer/, average/ or
        state/. Kept are the `keep` newest and the best. Checkpoints of later steps go: training
        went back behind them, and they belong to a past that is being repeated.
        """
        _check_names(tensors)
        target = self.folder / f"step-{step:08d}"
        checkpoint = Checkpoint(
            path=target,
            step=step,
            extra=dict(extra or {}),
            metric=_finite(metric),
            higher_is_better=self.higher_is_better,
        )
        self._put_in_place(self._written(checkpoint, tensors), target)
        self._saved_step = step
        self._rotate()
        return checkpoint

    def rate(self, checkpoint: Checkpoint, metric: float) -> Checkpoint:
        """Add the metric to a checkpoint that was saved before it was judged.

        If it is no longer there, nothing happens.
        """
        rated = replace(checkpoint, metric=_finite(metric), higher_is_better=self.higher_is_better)
        if rated.path.is_dir():
            write_text(rated.path / DOCUMENT_NAME, saved_checkpoints.document_text(rated))
            self._rotate()
        return rated

    def latest(self) -> Checkpoint | None:
        """Give the checkpoint with the highest step."""
        found = saved_checkpoints.checkpoints_in(self.folder)
        return found[-1] if found else None

    def best(self) -> Checkpoint | None:
        """Give the checkpoint with the best metric; None if none has a metric."""
        return saved_checkpoints.best_of(saved_checkpoints.checkpoints_in(self.folder))

    def restore(self, checkpoint: Checkpoint) -> Restored:
        """Open a checkpoint; DamagedCheckpointError if it is not whole."""
        return saved_checkpoints.restore(checkpoint)

    def restore_latest(self) -> Restored | None:
        """Open the latest checkpoint that is whole, with a warning if it is not the latest.

        Later ones, which are damaged, are moved into the folder `damaged`.
        """
        return saved_checkpoints.restore_latest(self.folder, self._set_aside)

    def _written(self, checkpoint: Checkpoint, tensors: Mapping[str, Any]) -> Path:
        temporary = self.folder / f"{_SAVING}{checkpoint.path.name}"
        shutil.rmtree(temporary, ignore_errors=True)
        try:
            self.folder.mkdir(exist_ok=True)  # someone may have emptied the run meanwhile
            temporary.mkdir()
            write_bundle(temporary / TENSORS_NAME, tensors)
            write_text(temporary / DOCUMENT_NAME, saved_checkpoints.document_text(checkpoint))
            sync(temporary)
        except BaseException as error:
            shutil.rmtree(temporary, ignore_errors=True)
            if isinstance(error, OSError):
                raise unwritable(checkpoint.path, error.strerror) from error
            raise
        return temporary

    def _put_in_place(self, temporary: Path, target: Path) -> None:
        replaced = target.with_name(f"{REPLACED}{target.name}")
        if target.exists() and not _is_renamed(target, replaced):
            self._remove(target)
        if not _is_renamed(temporary, target):
            _move_files(temporary, target)
        sync(self.folder)
        if replaced.exists():
            self._remove(replaced)

    def _rotate(self) -> None:
        if self._saved_step is None:
            return  # it is not known yet which checkpoint the training goes on from
        found = self._readable()
        current = [each for each in found if each.step <= self._saved_step]
        kept = {each.path for each in current[-self.keep :]}
        best = saved_checkpoints.best_of(current)
        if best is not None:
            kept.add(best.path)
        for each in found:
            if each.path not in kept:
                self._remove(each.path)

    def _readable(self) -> list[Checkpoint]:
        """List the checkpoints that may be judged; damaged ones are moved out of the way."""
        found = []
        for path in saved_checkpoints.step_folders(self.folder):
            try:
                found.append(saved_checkpoints.read_checkpoint(path))
            except DamagedCheckpointError:
                self._set_aside(path)
            except UnreadableCheckpointError:
                continue  # it may be whole, so it stays where it is
        return found

    def _set_aside(self, path: Path) -> Path:
        """Move a damaged checkpoint where it is not in the way, and say where."""
        aside = self.folder / DAMAGED_NAME
        aside.mkdir(exist_ok=True)
        again = (f"{path.name}.{number}" for number in itertools.count(2))
        names = itertools.chain([path.name], again)
        target = next(aside / name for name in names if not (aside / name).exists())
        if not _is_renamed(path, target):
            _move_files(path, target)
        return target

    def _remove(self, path: Path) -> None:
        """Hide a checkpoint before its files go one by one."""
        hidden = path.with_name(f"{_DELETED}{path.name}")
        shutil.rmtree(hidden, ignore_errors=True)
        if not _is_renamed(path, hidden):
            (path / DOCUMENT_NAME).unlink(missing_ok=True)  # without it, it is no checkpoint
            hidden = path
        shutil.rmtree(hidden, ignore_errors=True)

    def _clean(self) -> None:
        """Finish or undo what a kill interrupted."""
        for path in self.folder.glob(f"{REPLACED}*"):
            target = path.with_name(path.name.removeprefix(REPLACED))
            if target.exists():
                self._remove(path)
            elif not _is_renamed(path, target):
                _move_files(path, target)
        for prefix in (_SAVING, _DELETED):
            for path in self.folder.glob(f"{prefix}*"):
                shutil.rmtree(path, ignore_errors=True)
        for path in self.folder.glob(f"step-*/.{DOCUMENT_NAME}.*"):
            path.unlink(missing_ok=True)


def _is_renamed(folder: Path, target: Path) -> bool:
    """Rename a folder; False where none can be renamed, as on mounts of Cloud Storage."""
    try:
        os.rename(folder, target)
    except OSError as error:
        if error.errno not in _NO_RENAMING:
            raise
        return False
    return True


# What mounts say: not implemented, not supported, too many files in it, another device.
_NO_RENAMING = (errno.ENOSYS, errno.ENOTSUP, errno.EMFILE, errno.EXDEV)


def _move_files(folder: Path, target: Path) -> None:
    """Move a checkpoint file by file, last the one without which it is none."""
    target.mkdir(exist_ok=True)
    for path in sorted(folder.iterdir(), key=lambda each: (each.name == DOCUMENT_NAME, each.name)):
        os.replace(path, target / path.name)
    folder.rmdir()


def _check_names(tensors: Mapping[str, Any]) -> None:
    strange = [name for name in tensors if not name.startswith(tuple(f"{g}/" for g in GROUPS))]
    if strange or not tensors:
        what = f"the name {strange[0]!r}" if strange else "no tensor"
        raise HoldfastError(
            f"A checkpoint cannot be saved with {what}.",
            fix=f"Names start with one of {', '.join(f'{group}/' for group in GROUPS)}.",
        )


def _finite(metric: float | None) -> float | None:
    """Leave out a metric that is not a number: it says nothing."""
    return float(metric) if metric is not None and math.isfinite(metric) else None
