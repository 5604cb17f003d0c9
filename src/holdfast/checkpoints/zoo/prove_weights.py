"""Prove that fetched weights can be read, and fill the network that they are for."""

from __future__ import annotations

from pathlib import Path

import h5py  # type: ignore[import-untyped]

from holdfast.checkpoints.legacy.legacy_reader import open_checkpoint
from holdfast.checkpoints.own.own_reader import open_own_checkpoint
from holdfast.checkpoints.report import Report
from holdfast.checkpoints.transfer import load_checkpoint
from holdfast.checkpoints.zoo.weights_cache import StoredWeights
from holdfast.config.load import load_config
from holdfast.config.schema.model import DetectionModel
from holdfast.errors import HoldfastError
from holdfast.models.detectors.build_detector import build_detector

_AGAIN = "Download them again, or give weights of the same network."


def prove_weights(weights: StoredWeights) -> None:
    """Read all of them, and fill the network of the config beside them, if Holdfast builds it."""
    prove_readable(weights)
    model = _own_model(weights.config)
    if model is not None:
        prove_filling(weights, model, every_class=True)


def prove_readable(weights: StoredWeights) -> None:
    """Read every value; HoldfastError where one is damaged or not as large as it says."""
    if weights.is_classifier:
        _read_all(Path(weights.checkpoint))
        return
    checkpoint = open_own_checkpoint(weights.checkpoint) or open_checkpoint(weights.checkpoint)
    for name in checkpoint.shapes:
        value = checkpoint.value(name)
        if value.shape != checkpoint.shapes[name]:
            raise _refused(weights, f"{name} is not as large as the checkpoint says")


def prove_filling(
    weights: StoredWeights, model: DetectionModel, *, every_class: bool = False
) -> Report:
    """Fill the network of a config; HoldfastError where a part of it would stay as it was.

    every_class: what predicts classes has to fit, too; else their number may be another.
    """
    detector = build_detector(model)
    if weights.is_classifier:
        report = load_checkpoint(detector, weights.checkpoint, "classification")
        left = report.missing
    else:
        report = load_checkpoint(detector, weights.checkpoint, "full")
        features = load_checkpoint(detector, weights.checkpoint, "detection")
        left = (*report.missing, *features.mismatched, *(report.mismatched * every_class))
    if left:
        raise _refused(weights, f"they do not fill the network: {report}; first {left[0]}")
    return report


def _own_model(config: Path | None) -> DetectionModel | None:
    """Read the network of an archive; None where Holdfast does not build it."""
    if config is None:
        return None
    try:
        return load_config(config).model
    except HoldfastError:
        return None  # a field that only an old OD API had; the values were read nevertheless


def _read_all(path: Path) -> None:
    try:
        with h5py.File(path) as file:
            file.visititems(lambda _, item: item[()] if isinstance(item, h5py.Dataset) else None)
    except OSError as error:
        raise HoldfastError(
            f"{path.name} cannot be read as a file of Keras weights: {error}.", fix=_AGAIN
        ) from error


def _refused(weights: StoredWeights, why: str) -> HoldfastError:
    return HoldfastError(f"The weights {weights.name} are not usable: {why}.", fix=_AGAIN)
