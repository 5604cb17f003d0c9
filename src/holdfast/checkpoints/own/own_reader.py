"""Opens Holdfast's own checkpoints to fill a detector, by whatever of them a user names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import tensorflow as tf

from holdfast.checkpoints.find_checkpoint import find_prefix
from holdfast.checkpoints.own.bundle import Bundle
from holdfast.checkpoints.own.saved_checkpoints import (
    DOCUMENT_NAME,
    TENSORS_NAME,
    Restored,
    read_checkpoint,
    restore,
    restore_latest,
    step_folders,
)
from holdfast.config.paths import is_remote
from holdfast.errors import HoldfastError
from holdfast.runs.run import CHECKPOINTS_NAME, is_run


@dataclass(frozen=True, kw_only=True)
class OwnCheckpoint:
    """An open checkpoint: names and shapes are known, values are read when asked for."""

    prefix: str
    shapes: Mapping[str, tuple[int, ...]]  # of the model's variables, by name, sorted
    averages: Mapping[str, str]  # name of a model's variable -> name of its moving average
    other: tuple[str, ...]  # optimizer, moving averages, state; sorted
    tensors: Bundle = field(repr=False)

    @property
    def ranges(self) -> Mapping[str, tuple[int, ...]]:
        """None beside the model's: ranges are variables of the model here."""
        return {}

    def value(self, name: str) -> np.ndarray:
        """Read one tensor; HoldfastError when it is damaged."""
        return self.tensors[name]


def open_own_checkpoint(path: str | Path) -> OwnCheckpoint | None:
    """Open a checkpoint's folder, or the latest of a folder of checkpoints or of a run.

    None if the path is not of Holdfast. A damaged checkpoint is an error, or, where the latest is
    sought, passed over with a warning.
    """
    tensors = _remote_tensors(str(path)) if is_remote(str(path)) else _tensors(Path(path))
    if tensors is None:
        return None
    model = [name for name in tensors if name.startswith("model/")]
    averages = {name: f"average/{name.removeprefix('model/')}" for name in model}
    return OwnCheckpoint(
        prefix=tensors.prefix,
        shapes={name: tensors.shapes[name] for name in model},
        averages={name: average for name, average in averages.items() if average in tensors},
        other=tuple(name for name in tensors if not name.startswith("model/")),
        tensors=tensors,
    )


def _remote_tensors(path: str) -> Bundle | None:
    """Open a checkpoint behind a URL, without reading all of it first."""
    prefix = find_prefix(path)
    folder, _, name = prefix.rpartition("/")
    is_own = name == TENSORS_NAME and tf.io.gfile.exists(f"{folder}/{DOCUMENT_NAME}")
    return Bundle(prefix) if is_own else None


def _tensors(path: Path) -> Bundle | None:
    restored = _restored(path)
    return restored.tensors if restored is not None else None


def _restored(path: Path) -> Restored | None:
    if path.name.startswith(TENSORS_NAME) and (path.parent / DOCUMENT_NAME).is_file():
        path = path.parent  # the prefix, or one of its files
    if (path / DOCUMENT_NAME).is_file() or path in step_folders(path.parent):
        return restore(read_checkpoint(path))
    if not is_run(path):
        return restore_latest(path)
    restored = restore_latest(path / CHECKPOINTS_NAME)
    if restored is None:
        raise HoldfastError(
            f"The run {path} has no checkpoint yet.",
            fix="Train until the first one is saved (--checkpoint-every says when).",
        )
    return restored
