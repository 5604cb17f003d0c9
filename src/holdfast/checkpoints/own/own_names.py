"""What Holdfast's own checkpoints call the variables of a detector: by their paths."""

from __future__ import annotations

from holdfast.checkpoints.legacy.detector_names import Kind, filled_parts
from holdfast.checkpoints.legacy.leaf_names import is_range
from holdfast.checkpoints.legacy.sought_names import Sought
from holdfast.models.detectors.interface import Detector


def own_names(detector: Detector, kind: Kind) -> list[Sought]:
    """List the variables that a kind of loading fills, with their names."""
    return [
        Sought(
            variable,
            (f"model/{inner_path(detector, variable.path)}",),
            # A checkpoint from before quantization has neither.
            is_optional=part == "quantization" or is_range(variable),
        )
        for part in filled_parts(detector, kind)
        for variable in detector.parts()[part].weights
    ]


def inner_path(detector: Detector, path: str) -> str:
    """Leave the detector's own name out of the path of a variable: backbone/Conv/batch_norm/beta.

    Keras makes names unique in a process, so the second detector's may be another.
    """
    return path.removeprefix(f"{detector.name}/")
