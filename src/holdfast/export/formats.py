"""The formats that an export can have: one row each."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.errors import HoldfastError
from holdfast.export.comparison import Tolerance
from holdfast.export.export_choices import ExportPrecision, ExportSettings, FormatName
from holdfast.export.export_format import ExportFormat, ExportJob
from holdfast.export.fresh_process import run_saved_model
from holdfast.export.saved_model_file import write_saved_model
from holdfast.export.tflite_file import write_tflite
from holdfast.export.tflite_limits import TOLERANCES, refuse_for_tflite
from holdfast.export.tflite_run import run_tflite


def _refuse_nothing(config: TrainEvalPipelineConfig, settings: ExportSettings) -> None:
    """Carry every family."""


def _write_saved_model(job: ExportJob, path: Path) -> None:
    write_saved_model(job.detector, path, job.settings.input_type)


def _run_saved_model(
    job: ExportJob, path: Path, images: Sequence[NDArray[np.uint8]]
) -> list[dict[str, NDArray[Any]]]:
    with tempfile.TemporaryDirectory() as work:
        return run_saved_model(path, images, job.settings.input_type, Path(work))


FORMATS = {
    FormatName.SAVED_MODEL: ExportFormat(
        place="saved_model",
        runtime="TensorFlow, in a fresh process",
        tolerances={ExportPrecision.FLOAT32: Tolerance()},
        refuse=_refuse_nothing,
        write=_write_saved_model,
        run=_run_saved_model,
    ),
    FormatName.TFLITE: ExportFormat(
        place="model.tflite",
        runtime="LiteRT",
        tolerances=TOLERANCES,
        refuse=refuse_for_tflite,
        write=write_tflite,
        run=run_tflite,
        leaves_out=frozenset({"detection_masks"}),
    ),
}


def chosen_format(config: TrainEvalPipelineConfig, settings: ExportSettings) -> ExportFormat:
    """Give the row that the settings name; refuse what it cannot carry."""
    if settings.format not in FORMATS:
        raise HoldfastError(
            f"--format {settings.format} is not written yet.",
            fix=f"Choose {' or '.join(FORMATS)}.",
        )
    row = FORMATS[settings.format]
    if settings.precision not in row.tolerances:
        raise HoldfastError(
            f"A {settings.format} is not written in {settings.precision}.",
            fix=f"Choose --precision {' or '.join(row.tolerances)}, or --format tflite.",
        )
    row.refuse(config, settings)
    return row
