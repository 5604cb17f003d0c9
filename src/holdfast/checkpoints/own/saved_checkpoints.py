"""Holdfast's own checkpoints as they lie in a folder: which there are, and what is in them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from holdfast.checkpoints.own.bundle import Bundle, DamagedCheckpointError, unreadable
from holdfast.runs.json_text import from_text, to_text

TENSORS_NAME = "tensors"  # prefix of the bundle
DOCUMENT_NAME = "checkpoint.json"
REPLACED = ".replaced-"  # precedes the name of a checkpoint while another takes its place

# The first part of every tensor's name. A model's variables are under their path, without the
# detector's own name: model/backbone/Conv/convolution/kernel.
GROUPS = ("model", "optimizer", "average", "state")


class DamagedCheckpointWarning(UserWarning):
    """A checkpoint is damaged, and an earlier one is used."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A checkpoint without its tensors."""

    path: Path  # its folder
    step: int
    extra: Mapping[str, Any]  # data position, random seeds, versions: what the trainer needs
    metric: float | None  # how good the model is, if it was judged
    higher_is_better: bool = True

    @property
    def rank(self) -> float | None:
        """The metric, turned so that higher is better."""
        return self.metric if self.metric is None or self.higher_is_better else -self.metric


@dataclass(frozen=True, kw_only=True)
class Restored:
    """A checkpoint that has been found whole."""

    checkpoint: Checkpoint
    tensors: Bundle  # name -> value, read when asked for


def step_folders(folder: Path) -> list[Path]:
    """List the folders of checkpoints, lowest step first; one that is being written is not seen."""
    found: dict[int, Path] = {}
    for path in sorted(folder.glob("*step-*"), reverse=True):
        match = re.fullmatch(rf"({re.escape(REPLACED)})?step-(\d{{8,}})", path.name)
        # Sorted like this, step-… comes before .replaced-step-…, which counts where it is alone.
        if match and path.is_dir():
            found.setdefault(int(match[2]), path)
    return [found[step] for step in sorted(found)]


def checkpoints_in(folder: Path) -> list[Checkpoint]:
    """List the checkpoints of a folder, lowest step first, without those that say nothing."""
    found = []
    for path in step_folders(folder):
        try:
            found.append(read_checkpoint(path))
        except DamagedCheckpointError:
            continue  # `restore_latest` is where to hear of it
    return found


def read_checkpoint(path: Path) -> Checkpoint:
    """Read what a checkpoint says of itself.

    DamagedCheckpointError if that says nothing, UnreadableCheckpointError if it cannot be read now.
    """
    try:
        values = from_text((path / DOCUMENT_NAME).read_bytes())
        return Checkpoint(
            path=path,
            step=int(values["step"]),
            extra=dict(values["extra"]),
            metric=values["metric"],
            higher_is_better=values["higher_is_better"],
        )
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError) as error:
        raise DamagedCheckpointError(
            f"{path / DOCUMENT_NAME} does not describe a checkpoint: {error!r}.",
            fix="The file is missing or damaged: use an earlier checkpoint.",
        ) from error
    except OSError as error:
        raise unreadable(path / DOCUMENT_NAME, error.strerror) from error


def document_text(checkpoint: Checkpoint) -> str:
    """Write what a checkpoint says of itself."""
    values = {
        "step": checkpoint.step,
        "metric": checkpoint.metric,
        "higher_is_better": checkpoint.higher_is_better,
        "extra": checkpoint.extra,
    }
    return to_text(values, indent=1) + "\n"


def best_of(checkpoints: Iterable[Checkpoint]) -> Checkpoint | None:
    """Choose the one with the best metric, of equal ones the first; None if none has a metric."""
    ranked = [(each.rank, each) for each in checkpoints if each.rank is not None]
    return max(ranked, key=itemgetter(0))[1] if ranked else None


def restore(checkpoint: Checkpoint) -> Restored:
    """Open a checkpoint and read it through once; DamagedCheckpointError if it is not whole."""
    tensors = Bundle(checkpoint.path / TENSORS_NAME)
    tensors.verify()
    return Restored(checkpoint=checkpoint, tensors=tensors)


def restore_latest(
    folder: Path, set_aside: Callable[[Path], Path] | None = None
) -> Restored | None:
    """Restore the checkpoint with the highest step that is whole; None if there is none at all.

    Damaged ones are passed over with a warning; if all are, DamagedCheckpointError. One that cannot
    be read now may be whole: that is an UnreadableCheckpointError, never a reason to go back.
    set_aside: moves a damaged checkpoint out of the way, and says where to; only called once there
    is a whole one, so that a run whose checkpoints are all damaged never seems to be new.
    """
    damaged: list[tuple[Path, DamagedCheckpointError]] = []
    restored: Restored | None = None
    for path in reversed(step_folders(folder)):
        try:
            restored = restore(read_checkpoint(path))
            break
        except DamagedCheckpointError as error:
            damaged.append((path, error))
    if damaged and restored is None:
        raise DamagedCheckpointError(
            f"No checkpoint in {folder} is whole. {damaged[0][1].message}",
            fix="Start a new run, or put a copy of a checkpoint there.",
        )
    for path, damage in damaged:
        moved = f" It was moved to {set_aside(path)}." if set_aside is not None else ""
        warnings.warn(
            f"{damage.message}{moved} The checkpoint before it is used.",
            DamagedCheckpointWarning,
            stacklevel=2,
        )
    return restored
