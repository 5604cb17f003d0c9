"""Cases for tests: a config in text, with what is known about data and runs put in by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.config.text.overrides import apply_overrides
from holdfast.doctor.case import Case
from holdfast.doctor.diagnose import Diagnosis, examine
from holdfast.doctor.finding import Finding


def case_of(text: str, overrides: dict[str, Any] | None = None, **known: Any) -> Case:
    """Make the case of a config; `known` are attributes of it, such as train.statistics."""
    config, problems, _ = decode(text, TrainEvalPipelineConfig)
    assert not problems, problems
    config, wrong = apply_overrides(config, overrides or {})
    assert not wrong, wrong
    case = Case(config=config)
    for name, value in known.items():
        owner, _, attribute = name.rpartition(".")
        setattr(getattr(case, owner) if owner else case, attribute, value)
    return case


def looked(case: Case, code: str) -> Diagnosis:
    """Ask one check; it must have been able to look."""
    diagnosis = examine(case, only=[code])
    assert diagnosis.looked_at == (code,), diagnosis.not_looked_at
    return diagnosis


def found(case: Case, code: str) -> Finding | None:
    """Give what one check found, None if nothing."""
    findings = looked(case, code).findings
    assert len(findings) <= 1
    return findings[0] if findings else None


def run_folder(path: Path, *lines: str) -> Path:
    """Make a run of which only the events are left."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "events.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return path


# A fine-tuning as `holdfast new` would make it: nothing is wrong with it.
HEALTHY = """
model { ssd { num_classes: 3
  image_resizer { fixed_shape_resizer { height: 300 width: 300 } }
  feature_extractor { type: "ssd_mobilenet_v2_keras" depth_multiplier: 1.0
    conv_hyperparams { regularizer { l2_regularizer { weight: 0.00004 } }
      initializer { truncated_normal_initializer { stddev: 0.03 } }
      batch_norm { decay: 0.97 epsilon: 0.001 scale: true } } }
  box_coder { faster_rcnn_box_coder { } }
  matcher { argmax_matcher { matched_threshold: 0.5 unmatched_threshold: 0.5 } }
  similarity_calculator { iou_similarity { } }
  anchor_generator { ssd_anchor_generator { num_layers: 6 min_scale: 0.2 max_scale: 0.95
    aspect_ratios: [1.0, 2.0, 0.5, 3.0, 0.3333] } }
  box_predictor { convolutional_box_predictor { use_dropout: false
    class_prediction_bias_init: -4.6
    conv_hyperparams { regularizer { l2_regularizer { weight: 0.00004 } }
      initializer { truncated_normal_initializer { stddev: 0.03 } } } } }
  loss { classification_weight: 1.0 localization_weight: 1.0
    classification_loss { weighted_sigmoid_focal { alpha: 0.75 gamma: 2.0 } }
    localization_loss { weighted_smooth_l1 { } } }
  post_processing { score_converter: SIGMOID batch_non_max_suppression {
    score_threshold: 1e-8 iou_threshold: 0.6
    max_detections_per_class: 100 max_total_detections: 100 } } } }
train_config { batch_size: 8 num_steps: 2000
  fine_tune_checkpoint: "ckpt-0" fine_tune_checkpoint_type: "detection"
  optimizer { momentum_optimizer { momentum_optimizer_value: 0.9 learning_rate {
    cosine_decay_learning_rate { learning_rate_base: 0.01 warmup_learning_rate: 0.001
      warmup_steps: 200 total_steps: 2000 } } } use_moving_average: false }
  data_augmentation_options { random_horizontal_flip { } } }
train_input_reader { label_map_path: "label_map.pbtxt"
  tf_record_input_reader { input_path: "train.record" } }
eval_config { batch_size: 4 }
eval_input_reader { label_map_path: "label_map.pbtxt"
  tf_record_input_reader { input_path: "val.record" } }
"""
RCNN = """
model { faster_rcnn { num_classes: 3
  image_resizer { keep_aspect_ratio_resizer { min_dimension: 600 max_dimension: 1024 } }
  feature_extractor { type: "faster_rcnn_resnet50" first_stage_features_stride: 16 }
  first_stage_anchor_generator { grid_anchor_generator { scales: [0.5, 1.0] aspect_ratios: 1.0 } }
  first_stage_nms_score_threshold: 0.0 first_stage_max_proposals: 300
  second_stage_post_processing { score_converter: SOFTMAX
    batch_non_max_suppression { score_threshold: 0.0 } } } }
train_config { batch_size: 1 num_steps: 20000 fine_tune_checkpoint: "model.ckpt"
  optimizer { momentum_optimizer { learning_rate { manual_step_learning_rate {
    initial_learning_rate: 0.0003
    schedule { step: 10000 learning_rate: 0.00003 }
    schedule { step: 15000 learning_rate: 0.000003 } } } } } gradient_clipping_by_norm: 10 }
"""
RATE = "train_config.optimizer.momentum_optimizer.learning_rate.cosine_decay_learning_rate"
SUPPRESSION = "model.ssd.post_processing.batch_non_max_suppression"
HEAD = "model.ssd.box_predictor.convolutional_box_predictor"
