"""disk-short: the checkpoints to come do not fit on the disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from holdfast.config.paths import find_checkpoint
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.lazy_part import MissingError
from holdfast.runs.run import CHECKPOINTS_NAME
from holdfast.units import bytes_text

_KEPT = 5 + 2  # by default 5, the best one besides, and one that is being written
_STATE = 3  # times the weights: the optimizer's state, and their averages
_LITTLE = 2**30  # where the size of a checkpoint is not known
_CAREFUL = 2.0  # events, TensorBoard's files, pictures, others who write to the same disk


@check("disk-short", about="machine")
def disk_short(case: Case) -> Iterator[Finding]:
    """The disk has no room for the checkpoints to come.

    Why it happens: a checkpoint holds weights, the optimizer's state and averages, three times the
    size of the weights, and several are kept. A disk that is full ends the training.

    How it is seen: the free space where the run is written, against seven checkpoints: of the size
    of the run's last one, or of three times the weights that it starts from. Less is an error; less
    than twice as much a warning. Where the size is not known, less than 1 GiB is a warning.

    What helps: another --run, fewer checkpoints (`--keep`), an empty disk.
    """
    folder = _existing(case)
    free = shutil.disk_usage(folder).free
    one, present = _checkpoint_bytes(case)
    needed = one * max(_KEPT - present, 1)
    if free >= (needed * _CAREFUL if one else _LITTLE):
        return
    yield Finding(
        code="disk-short",
        severity="error" if one and free < needed else "warning",
        what=f"{bytes_text(free)} are free on the disk of {folder}"
        + (f", and checkpoints to come need {bytes_text(needed)}." if one else "."),
        why="A full disk ends the training, with the last checkpoint half written.",
        evidence={"free_bytes": free, "needed_bytes": needed, "checkpoint_bytes": one},
        fix=Fix(text="Make room, keep fewer checkpoints, or write the run to another disk."),
    )


def _existing(case: Case) -> Path:
    try:
        return case.run_path
    except MissingError:
        return Path.cwd()


def _checkpoint_bytes(case: Case) -> tuple[int, int]:
    """Give the size of a checkpoint, 0 if it is not known, and how many are there."""
    try:
        folders = sorted((case.run_path / CHECKPOINTS_NAME).glob("step-*"))
        if folders:
            return _size(folders[-1]), len(folders)
    except MissingError:
        pass
    named = case.train_config.fine_tune_checkpoint
    files = find_checkpoint(named, case.folder).files if named else ()
    if len(files) != 1:
        return 0, 0
    prefix = files[0].with_suffix("").name
    return _STATE * sum(each.stat().st_size for each in files[0].parent.glob(f"{prefix}.data-*")), 0


def _size(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
