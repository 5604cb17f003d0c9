"""Fills a detector from a checkpoint, and says what fitted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from holdfast.checkpoints.keras_weights import is_keras_weights, load_keras_weights
from holdfast.checkpoints.legacy.detector_names import Kind, filled_parts
from holdfast.checkpoints.legacy.legacy_reader import open_checkpoint
from holdfast.checkpoints.own.own_reader import open_own_checkpoint
from holdfast.checkpoints.report import Report
from holdfast.checkpoints.variable_matching import OpenCheckpoint, match, match_own
from holdfast.errors import HoldfastError
from holdfast.models.detectors.interface import Detector


def load_checkpoint(
    detector: Detector, path: str | Path, kind: Kind = "full", *, use_moving_average: bool = False
) -> Report:
    """Fill the variables of a built detector from a checkpoint.

    Variables of another shape, as those of another number of classes, keep their values.

    Args:
        detector: A detector of `build_detector`.
        path: Prefix or folder of the OD API's checkpoints (TF1 or TF2), a checkpoint or a run of
            Holdfast, or a file of Keras weights (.h5). Of several checkpoints the latest is taken.
        kind: What to fill, as in the OD API: "full" the whole detector, "detection" and
            "fine_tune" all but the heads, "classification" the backbone.
        use_moving_average: Take the moving averages of the weights instead of the weights.

    Returns:
        What was loaded and what was not, by the names in the checkpoint.

    Raises:
        HoldfastError: Nothing fits, or something that fits cannot be read. The detector is then as
            it was before.

    Example:
        >>> detector = holdfast.build_detector(holdfast.load_config("pipeline.config"))
        >>> report = holdfast.load_checkpoint(detector, "checkpoints")
        >>> report.is_whole
        True
        >>> print(holdfast.load_checkpoint(detector, "checkpoints", kind="classification"))
        135 variables loaded, 22 unused
    """
    if is_keras_weights(path):
        return _load_classifier(detector, path, kind, use_moving_average)
    checkpoint, report = _matched(detector, path, kind)
    values = _values(checkpoint, report.loaded, use_moving_average)
    for name, value in zip(report.loaded, values, strict=True):
        report.variables[name].assign(value)
    for implied in report.implied:
        implied.variable.assign(np.full(implied.variable.shape, implied.value))
    return report


def _matched(detector: Detector, path: str | Path, kind: Kind) -> tuple[OpenCheckpoint, Report]:
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
    detector: Detector, path: str | Path, kind: Kind, use_moving_average: bool
) -> Report:
    if kind != "classification" or use_moving_average:
        raise HoldfastError(
            f"{path} is a file of Keras weights: it can fill the backbone alone.",
            fix='Set fine_tune_checkpoint_type: "classification" (kind="classification"), and no '
            "moving average.",
        )
    backbone, *behind = (detector.parts()[part] for part in filled_parts(detector, kind))
    return load_keras_weights(backbone, path, *behind)
