"""A config of a small network, and what belongs to it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.data.input.build_input import open_reader
from holdfast.data.survey.inspection import Records
from holdfast.data.survey.statistics import Statistics
from holdfast.data.survey.statistics_cache import record_statistics

NUM_IMAGES = 10
FIXED = "fixed_shape_resizer { height: 96 width: 96 }"
BOTH_METRICS = 'metrics_set: "coco_detection_metrics" metrics_set: "pascal_voc_detection_metrics"'
_MODEL = """
num_classes: 4
feature_extractor {
  type: "ssd_mobilenet_v1_keras" depth_multiplier: 0.1 min_depth: 8 num_layers: 2
}
box_coder { faster_rcnn_box_coder { } }
matcher { argmax_matcher { force_match_for_each_row: true } }
similarity_calculator { iou_similarity { } }
anchor_generator { ssd_anchor_generator { num_layers: 2 aspect_ratios: 1.0 } }
box_predictor { convolutional_box_predictor { kernel_size: 1 conv_hyperparams {
  regularizer { l2_regularizer { weight: 0.001 } }
  initializer { truncated_normal_initializer { } }
} } }
loss {
  classification_loss { weighted_sigmoid_focal { } }
  localization_loss { weighted_smooth_l1 { } }
}
post_processing {
  batch_non_max_suppression { max_detections_per_class: 100 max_total_detections: 100 }
  score_converter: SIGMOID
}
"""


class Setup(NamedTuple):
    config: TrainEvalPipelineConfig
    records: Records
    statistics: Statistics


def config(
    folder: Path, *, resizer: str = FIXED, evaluation: str = BOTH_METRICS, reader: str = ""
) -> TrainEvalPipelineConfig:
    text = f"""
    model {{ ssd {{ image_resizer {{ {resizer} }} {_MODEL} }} }}
    eval_config {{ batch_size: 4 {evaluation} }}
    eval_input_reader {{
      label_map_path: "{folder}/label_map.pbtxt"
      tf_record_input_reader {{ input_path: "{folder}/train.record-*" }}
      {reader}
    }}
    """
    decoded = decode(text, TrainEvalPipelineConfig)
    assert decoded.problems == []
    return decoded.message


def setup(folder: Path, **changes: str) -> Setup:
    made = config(folder, **changes)
    records = open_reader(made.eval_input_reader[0], folder)
    return Setup(made, records, record_statistics(records.files, records.layout, records.names))
