"""Fills a detector from a checkpoint, and says what fitted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.checkpoints.keras_weights import is_keras_weights, load_keras_weights
from holdfast.checkpoints.legacy_mapping.detector_names import Kind
from holdfast.checkpoints.legacy_reader import open_checkpoint
from holdfast.checkpoints.matching import OpenCheckpoint, match, match_own
from holdfast.checkpoints.own_reader import open_own_checkpoint
from holdfast.checkpoints.report import Report
from holdfast.errors import HoldfastError


def load_checkpoint(
    detector: Any, path: str | Path, kind: Kind = "full", *, use_moving_average: bool = False
) -> Report:
    """Fill the variables of a built detector from a checkpoint.

    path: a prefix or a folder of the OD API's checkpoints, or a checkpoint, a folder of checkpoints
    or a run of Holdfast; of several checkpoints the latest is taken. kind, as in the OD API: "full"
    fills the whole detector, "detection" (and "fine_tune") all but the head, "classification" the
    backbone, from a classifier or from a detector; Keras' weight files (.h5) hold classifiers too.
    use_moving_average: take the moving averages of the weights, where kept.

    Variables of another shape keep their values. If anything that fits cannot be read, the detector
    stays as it was, and HoldfastError is raised; also if nothing fits.
    """
    if is_keras_weights(path):
        return _load_classifier(detector, path, kind, use_moving_average)
    checkpoint, report = _matched(detector, path, kind)
    values = _values(checkpoint, report.loaded, use_moving_average)
    for name, value in zip(report.loaded, values, strict=True):
        report.variables[name].assign(value)
    return report


def _matched(detector: Any, path: str | Path, kind: Kind) -> tuple[OpenCheckpoint, Report]:
    own = open_own_checkpoint(path)
    if own is not None:
        return own, match_own(detector, own, kind)
    checkpoint = open_checkpoint(path)
    return checkpoint, match(detector, checkpoint, kind)


def _values(
    checkpoint: OpenCheckpoint, names: Sequence[str], use_moving_average: bool
) -> list[np.ndarray]:
    """Read everything before anything is assigned: a damaged file must not leave half a network."""
    if not use_moving_average:
        return [checkpoint.value(name) for name in names]
    if not checkpoint.averages:
        raise HoldfastError(
            f"{checkpoint.prefix} holds no moving averages of the weights.",
            fix="Load it without use_moving_average: an exported checkpoint has them as values.",
        )
    # Batch-norm statistics are moving averages themselves and have none of their own.
    return [checkpoint.value(checkpoint.averages.get(name, name)) for name in names]


def _load_classifier(
    detector: Any, path: str | Path, kind: Kind, use_moving_average: bool
) -> Report:
    if kind != "classification" or use_moving_average:
        raise HoldfastError(
            f"{path} is a file of Keras weights: it can fill the backbone alone.",
            fix='Set fine_tune_checkpoint_type: "classification" (kind="classification"), and no '
            "moving average.",
        )
    return load_keras_weights(detector.backbone, path)
