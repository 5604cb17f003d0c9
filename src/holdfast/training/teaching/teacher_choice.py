"""Which detector is meant by `--teacher`, and what a run remembers of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.checkpoints.find_checkpoint import checkpoint_in
from holdfast.checkpoints.own.saved_checkpoints import TENSORS_NAME
from holdfast.checkpoints.trained_model import TrainedModel, choose_trained
from holdfast.config.load import load_config
from holdfast.errors import HoldfastError
from holdfast.runs.run import CHECKPOINTS_NAME, CONFIG_NAME, is_run

SAVED_MODEL = "saved_model.pb"


@dataclass(frozen=True, kw_only=True)
class TeacherChoice:
    """Where the teacher is.

    trained: its config and checkpoint; None: it is the SavedModel in the folder.
    """

    folder: Path
    trained: TrainedModel | None

    @property
    def name(self) -> str:
        """What its weights are called: the same wherever they lie."""
        return Path(self.trained.checkpoint).name if self.trained else self.folder.name

    def digest(self) -> str:
        """Give the SHA-256 of its weights."""
        total = hashlib.sha256()
        for file in self._files():
            with file.open("rb") as stream:
                total.update(hashlib.file_digest(stream, "sha256").digest())
        return total.hexdigest()

    def facts(self) -> dict[str, Any]:
        """Give what the manifest keeps."""
        return {"path": str(self.folder), "name": self.name, "sha256": self.digest()}

    def _files(self) -> list[Path]:
        if self.trained is None:
            return sorted(each for each in self.folder.rglob("*") if each.is_file())
        path = Path(self.trained.checkpoint)
        prefix = path / TENSORS_NAME if path.is_dir() else path
        return sorted(prefix.parent.glob(f"{prefix.name}.*")) or [path]


def find_teacher(text: str) -> TeacherChoice:
    """Find a run, one of its checkpoints, a folder with config and checkpoint, or a SavedModel."""
    path = Path(text)
    if is_run(path):
        return TeacherChoice(folder=path, trained=choose_trained(path))
    run = path.parent.parent
    if path.is_dir() and path.parent.name == CHECKPOINTS_NAME and is_run(run):
        return TeacherChoice(folder=path, trained=choose_trained(run, str(path)))
    if (path / CONFIG_NAME).is_file() and (found := checkpoint_in(path)):
        trained = TrainedModel(load_config(path / CONFIG_NAME), path, found, "")
        return TeacherChoice(folder=path, trained=trained)
    for place in (path, path / "saved_model"):
        if (place / SAVED_MODEL).is_file():
            return TeacherChoice(folder=place, trained=None)
    raise HoldfastError(
        f"--teacher: there is no detector at {path}.",
        fix="Give the folder of a run, of one of its checkpoints, or of a SavedModel.",
    )
