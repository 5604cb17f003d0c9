"""Fill all of a detector, as evaluation, prediction and export need it."""

from __future__ import annotations

from pathlib import Path

from holdfast.checkpoints.keras_weights import is_keras_weights
from holdfast.checkpoints.legacy.legacy_reader import open_checkpoint
from holdfast.checkpoints.own.own_reader import open_own_checkpoint
from holdfast.checkpoints.transfer import load_checkpoint
from holdfast.errors import HoldfastError
from holdfast.models.detectors.interface import Detector


def has_averages(checkpoint: str | Path) -> bool:
    """Tell whether a checkpoint holds moving averages of the weights."""
    if is_keras_weights(checkpoint):
        return False
    opened = open_own_checkpoint(checkpoint) or open_checkpoint(checkpoint)
    return bool(opened.averages)


def load_weights(detector: Detector, checkpoint: str | Path, *, averages: bool = False) -> None:
    """Fill all of a detector; what stays unfilled would be judged as if it were trained."""
    report = load_checkpoint(detector, checkpoint, use_moving_average=averages)
    if unfilled := (*report.mismatched, *report.missing):
        raise HoldfastError(
            f"{checkpoint} does not fill the config's detector: {report}; first {unfilled[0]}.",
            fix="Give the checkpoint of a detector that was trained with this config.",
        )
    if detector.clock is not None:
        detector.clock.settle()
