"""ONNX among the formats of an export: what it refuses, and how it is written and run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.config.facts.networks import detector_of
from holdfast.config.schema.center_net import CenterNet
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.data.records.build_label_map import names_by_id
from holdfast.errors import HoldfastError
from holdfast.export.client_input import ClientInput
from holdfast.export.comparison import Tolerance
from holdfast.export.export_choices import ExportPrecision, ExportSettings
from holdfast.export.export_format import ExportFormat, ExportJob
from holdfast.export.onnx_file import write_onnx
from holdfast.extras import need_extra
from holdfast.runtimes.onnx_session import OnnxSession


def _refuse(config: TrainEvalPipelineConfig, settings: ExportSettings) -> None:
    need_extra("onnx", "--format onnx", "onnx", "onnxruntime", "tf2onnx")
    if settings.input_type is not ClientInput.IMAGE_TENSOR:
        raise HoldfastError(
            f"ONNX cannot decode images, so that there is no --input {settings.input_type}.",
            fix="Leave out --input, or choose --format saved_model.",
        )
    if not settings.raw:
        _refuse_soft(config)
        return
    if config.model is not None and isinstance(detector_of(config.model), CenterNet):
        raise HoldfastError(
            "--raw leaves out the suppression, and a CenterNet has none: its detections are peaks.",
            fix="Leave out --raw.",
        )
    limits = {
        "--score-threshold": settings.score_threshold,
        "--max-detections": settings.max_detections,
        "--fast-nms": settings.fast_suppression or None,
    }
    if given := [name for name, value in limits.items() if value is not None]:
        raise HoldfastError(
            f"{given[0]} is about the suppression, which --raw leaves out.",
            fix=f"Leave out {given[0]} or --raw.",
        )


def _refuse_soft(config: TrainEvalPipelineConfig) -> None:
    """Raise where overlapping boxes only lose some of their scores."""
    detector = None if config.model is None else detector_of(config.model)
    processing = (
        detector.second_stage_post_processing
        if isinstance(detector, FasterRcnn)
        else detector and detector.post_processing
    )
    suppression = processing and processing.batch_non_max_suppression
    if suppression and suppression.soft_nms_sigma:
        raise HoldfastError(
            f"ONNX has no soft suppression; soft_nms_sigma is {suppression.soft_nms_sigma:g}.",
            fix="Choose --raw and suppress elsewhere, or --format saved_model.",
        )


def _write(job: ExportJob, path: Path) -> None:
    write_onnx(job.detector, path, names=names_by_id(job.label_map), raw=job.settings.raw)


def _run(
    job: ExportJob, path: Path, images: Sequence[NDArray[np.uint8]]
) -> list[dict[str, NDArray[Any]]]:
    session = OnnxSession(path)
    outputs = (session.run(image[np.newaxis]) for image in images)
    return [{name: value[0] for name, value in each.items()} for each in outputs]


ONNX_FORMAT = ExportFormat(
    place="model.onnx",
    runtime="onnxruntime",
    tolerances={ExportPrecision.FLOAT32: Tolerance()},
    refuse=_refuse,
    write=_write,
    run=_run,
)
