"""Evaluation settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from holdfast.config.schema.message import Deprecated, Message, OneOfs, UInt32


@dataclass(frozen=True, kw_only=True, repr=False)
class EvalConfig(Message):
    """When, on what and by which metrics to evaluate."""

    deprecated: ClassVar[Deprecated] = {
        "num_examples": "evaluation always reads the whole set",
        "max_evals": "evaluation runs as often as training asks for it",
    }

    batch_size: UInt32 = 1
    num_visualizations: UInt32 = 10
    num_examples: UInt32 = 5000
    eval_interval_secs: UInt32 = 300
    max_evals: UInt32 = 0
    save_graph: bool = False
    visualization_export_dir: str = ""
    eval_master: str = ""
    metrics_set: tuple[str, ...] = ()
    parameterized_metric: tuple[ParameterizedMetric, ...] = ()
    export_path: str = ""
    ignore_groundtruth: bool = False
    use_moving_averages: bool = False
    eval_instance_masks: bool = False
    min_score_threshold: float = 0.5
    max_num_boxes_to_visualize: int = 20
    skip_scores: bool = False
    skip_labels: bool = False
    visualize_groundtruth_boxes: bool = False
    groundtruth_box_visualization_color: str = "black"
    keep_image_id_for_visualization_export: bool = False
    retain_original_images: bool = True
    include_metrics_per_category: bool = False
    all_metrics_per_category: bool = False
    super_categories: Mapping[str, str] = field(default_factory=dict)
    recall_lower_bound: float = 0.0
    recall_upper_bound: float = 1.0
    retain_original_image_additional_channels: bool = False
    force_no_resize: bool = False
    use_dummy_loss_in_eval: bool = False
    keypoint_edge: tuple[KeypointEdge, ...] = ()
    skip_predictions_for_unlabeled_class: bool = False
    image_classes_field_map_empty_to_ones: bool = True


@dataclass(frozen=True, kw_only=True, repr=False)
class ParameterizedMetric(Message):
    """Exactly one metric with parameters."""

    oneofs: ClassVar[OneOfs] = {
        "parameterized_metric": ("coco_keypoint_metrics",),
    }

    coco_keypoint_metrics: CocoKeypointMetrics | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class CocoKeypointMetrics(Message):
    """COCO keypoint metrics of one class."""

    class_label: str = ""
    keypoint_label_to_sigmas: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, repr=False)
class KeypointEdge(Message):
    """Two keypoints joined by a line in pictures."""

    start: int = 0
    end: int = 0
