"""Detections kept in a run's folder, so that a second look at the same checkpoint is quick."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from holdfast.doctor.seen_by_model import FoundBoxes
    from holdfast.doctor.whole_images import WholeImage

FOLDER = "doctor"  # in the run
_NAME = "detections.npz"
_FORMAT = 1  # to be raised whenever the same images would give other detections


def kept_detections(run: Path, step: int, images: Sequence[WholeImage]) -> list[FoundBoxes] | None:
    """Read what was found before; None if nothing was kept, or of other images or weights."""
    from holdfast.doctor.seen_by_model import FoundBoxes

    try:
        with np.load(run / FOLDER / _NAME, allow_pickle=False) as stored:
            if str(stored["key"]) != _key(step, images):
                return None
            ends = np.cumsum(stored["counts"])[:-1]
            columns = (np.split(stored[name], ends) for name in FoundBoxes._fields)
            return [FoundBoxes(*row) for row in zip(*columns, strict=True)]
    except (OSError, ValueError, KeyError):  # missing, torn, or of another version
        return None


def keep_detections(
    run: Path, step: int, images: Sequence[WholeImage], found: Sequence[FoundBoxes]
) -> None:
    """Write what was found; a run that cannot be written, as one on a CD, is left as it is."""
    if not found:
        return
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(each, name) for each in found]) for name in found[0]._fields
    }
    path = run / FOLDER / _NAME
    temporary = path.with_name(f".{os.getpid()}.{_NAME}")
    try:
        path.parent.mkdir(exist_ok=True)
        counts = np.array([len(each.scores) for each in found])
        np.savez_compressed(temporary, key=_key(step, images), counts=counts, **columns)
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)


def _key(step: int, images: Sequence[WholeImage]) -> str:
    seen = hashlib.sha256(f"{_FORMAT} {step}".encode())
    for image in images:
        seen.update(f"{image.place} ".encode() + image.content)
    return seen.hexdigest()
