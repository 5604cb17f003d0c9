"""What all formats of an export have: how one is refused, written, run, and judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.export.comparison import Tolerance
from holdfast.export.export_choices import ExportPrecision, ExportSettings
from holdfast.models.detectors.interface import Detector

Told = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class ExportJob:
    """What is exported: a detector with its weights, and what a writer may need to know of it."""

    detector: Detector
    config: TrainEvalPipelineConfig  # with the limits that are exported
    folder: Path  # from where relative paths in the config lead
    label_map: StringIntLabelMap | None
    settings: ExportSettings
    tell: Told  # is told what is done next


@dataclass(frozen=True, kw_only=True)
class ExportFormat:
    """One format.

    place: the file or folder that is written, inside the folder of the export.
    runtime: what it is run in, for messages.
    tolerances: how far it may be from its detector; precisions that are not named are refused.
    refuse: raises a HoldfastError for what the format cannot carry, before any work.
    write: writes it to a path.
    run: gives the outputs of each image by the OD API's names, without batch, of the file at a
        path, run as a client would.
    leaves_out: outputs of the detector that the format has no place for.
    """

    place: str
    runtime: str
    tolerances: Mapping[ExportPrecision, Tolerance]
    refuse: Callable[[TrainEvalPipelineConfig, ExportSettings], None]
    write: Callable[[ExportJob, Path], None]
    run: Callable[[ExportJob, Path, Sequence[NDArray[np.uint8]]], list[dict[str, NDArray[Any]]]]
    leaves_out: frozenset[str] = frozenset()
