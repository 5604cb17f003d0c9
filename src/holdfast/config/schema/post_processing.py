"""Post-processing: score conversion and non-maximum suppression."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from holdfast.config.schema.message import Message
from holdfast.config.schema.score_calibration import CalibrationConfig


@dataclass(frozen=True, kw_only=True, repr=False)
class BatchNonMaxSuppression(Message):
    """Which overlapping detections survive, and how many."""

    score_threshold: float = 0.0
    iou_threshold: float = 0.6
    max_detections_per_class: int = 100
    max_total_detections: int = 100
    use_static_shapes: bool = False
    use_class_agnostic_nms: bool = False
    max_classes_per_detection: int = 1
    soft_nms_sigma: float = 0.0
    use_partitioned_nms: bool = False
    use_combined_nms: bool = False
    change_coordinate_frame: bool = True
    use_hard_nms: bool = False
    use_cpu_nms: bool = False


class ScoreConverter(IntEnum):
    """How logits become scores."""

    IDENTITY = 0
    SIGMOID = 1
    SOFTMAX = 2


@dataclass(frozen=True, kw_only=True, repr=False)
class PostProcessing(Message):
    """From logits to final detections."""

    batch_non_max_suppression: BatchNonMaxSuppression | None = None
    score_converter: ScoreConverter = ScoreConverter.IDENTITY
    logit_scale: float = 1.0
    calibration_config: CalibrationConfig | None = None
