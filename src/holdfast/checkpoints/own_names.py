"""What Holdfast's own checkpoints call the variables of a detector: by their paths."""

from __future__ import annotations

from typing import Any

from holdfast.checkpoints.legacy_mapping.detector_names import PARTS, Kind
from holdfast.checkpoints.legacy_mapping.sought import Sought


def named_variables(detector: Any) -> dict[str, Any]:
    """Name everything of a built detector that a checkpoint must hold.

    Weights and statistics are under `model/`, the states of random generators under `state/`.
    """
    weights = {id(variable) for variable in detector.weights}
    named = {}
    for variable in detector.variables:
        group = "model" if id(variable) in weights else "state"
        named[f"{group}/{inner_path(detector, variable.path)}"] = variable
    return named


def own_names(detector: Any, kind: Kind) -> list[Sought]:
    """List the variables that a kind of loading fills, with their names."""
    return [
        Sought(variable, (f"model/{inner_path(detector, variable.path)}",))
        for part in PARTS[kind]
        for variable in getattr(detector, part).weights
    ]


def inner_path(detector: Any, path: str) -> str:
    """Leave the detector's own name out of the path of a variable: backbone/Conv/batch_norm/beta.

    Keras makes names unique in a process, so the second detector's may be another.
    """
    return path.removeprefix(f"{detector.name}/")
