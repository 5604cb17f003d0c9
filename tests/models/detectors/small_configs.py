"""Configs of detectors that are small in every respect, one for each neck and head."""

from __future__ import annotations

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode

_LAYERS = """
conv_hyperparams {
  batch_norm { decay: 0.9 }
  regularizer { l2_regularizer { weight: 4e-5 } }
  initializer { truncated_normal_initializer { stddev: 0.09 } }
}
"""
_SHARED = f"weight_shared_convolutional_box_predictor {{ depth: 16 %s {_LAYERS} }}"
_MULTISCALE = """
multiscale_anchor_generator {
  min_level: 3 max_level: 6 aspect_ratios: [1.0, 2.0, 0.5] scales_per_octave: 1
}
"""
_SSD_ANCHORS = "ssd_anchor_generator { num_layers: 4 aspect_ratios: [1.0, 2.0, 0.5] }"
_FPN = "fpn { min_level: 3 max_level: 6 additional_layer_depth: 16 }"
_NARROW = "depth_multiplier: 0.25 min_depth: 8"

# name: feature extractor, box predictor, anchor generator
_PARTS = {
    "ssd": (
        f'type: "ssd_mobilenet_v1" num_layers: 4 {_NARROW}',
        f"convolutional_box_predictor {{ kernel_size: 3 {_LAYERS} }}",
        _SSD_ANCHORS,
    ),
    "ssdlite": (
        f'type: "ssd_mobilenet_v2_keras" num_layers: 4 use_depthwise: true {_NARROW}',
        f"convolutional_box_predictor {{ kernel_size: 3 use_depthwise: true {_LAYERS} }}",
        _SSD_ANCHORS,
    ),
    "fpn": (
        f'type: "ssd_mobilenet_v1_fpn" {_FPN} {_NARROW}',
        _SHARED % "num_layers_before_predictor: 1",
        _MULTISCALE,
    ),
    "fpnlite": (
        f'type: "ssd_mobilenet_v2_fpn_keras" use_depthwise: true {_FPN} {_NARROW}',
        _SHARED % "num_layers_before_predictor: 1 use_depthwise: true share_prediction_tower: true",
        _MULTISCALE,
    ),
    "bifpn": (
        'type: "ssd_efficientnet-b0_bifpn_keras" '
        "bifpn { min_level: 3 max_level: 6 num_iterations: 1 num_filters: 16 }",
        _SHARED % "num_layers_before_predictor: 1",
        _MULTISCALE,
    ),
}
NAMES = tuple(_PARTS)

_STAGES = """
    model { faster_rcnn {
      num_classes: 3
      number_of_stages: %d
      image_resizer { fixed_shape_resizer { height: %d width: %d } }
      feature_extractor { type: "%s" batch_norm_trainable: true }
      first_stage_anchor_generator { grid_anchor_generator {
        height: 32 width: 32 scales: [0.5, 1.0] aspect_ratios: [1.0, 2.0] } }
      first_stage_box_predictor_conv_hyperparams {
        regularizer { l2_regularizer { weight: 4e-5 } }
        initializer { truncated_normal_initializer { stddev: 0.09 } }
      }
      first_stage_box_predictor_depth: 16
      first_stage_minibatch_size: 16
      first_stage_max_proposals: 12
      clip_anchors_to_image: true
      initial_crop_size: 6
      maxpool_kernel_size: 2
      maxpool_stride: 2
      second_stage_batch_size: 8
      second_stage_box_predictor { mask_rcnn_box_predictor {
        use_dropout: true
        fc_hyperparams { op: FC initializer { truncated_normal_initializer { stddev: 0.09 } } }
        conv_hyperparams { initializer { truncated_normal_initializer { stddev: 0.09 } } }
        predict_instance_masks: %s
        mask_prediction_conv_depth: 8
        mask_height: 7 mask_width: 7
      } }
      second_stage_post_processing {
        batch_non_max_suppression {
          iou_threshold: 0.6 max_detections_per_class: 5 max_total_detections: 6 }
        score_converter: SOFTMAX
      }
    } }
"""


def small_stages(
    name: str, height: int, width: int, extractor: str = "faster_rcnn_inception_v2"
) -> TrainEvalPipelineConfig:
    """Make a config of three classes of `faster_rcnn` or `mask_rcnn`."""
    stages, masks = {"faster_rcnn": (2, "false"), "mask_rcnn": (3, "true")}[name]
    text = _STAGES % (stages, height, width, extractor, masks)
    config, problems, _ = decode(text, TrainEvalPipelineConfig)
    assert not problems, problems
    return config


def small_config(name: str, height: int, width: int) -> TrainEvalPipelineConfig:
    """Make a config of three classes with this neck and an input of this size."""
    extractor, predictor, anchors = _PARTS[name]
    text = f"""
    model {{ ssd {{
      num_classes: 3
      image_resizer {{ fixed_shape_resizer {{ height: {height} width: {width} }} }}
      feature_extractor {{ {extractor} {_LAYERS} }}
      box_coder {{ faster_rcnn_box_coder {{ }} }}
      matcher {{ argmax_matcher {{
        matched_threshold: 0.5 unmatched_threshold: 0.5 force_match_for_each_row: true }} }}
      similarity_calculator {{ iou_similarity {{ }} }}
      box_predictor {{ {predictor} }}
      anchor_generator {{ {anchors} }}
      post_processing {{
        batch_non_max_suppression {{ score_threshold: 1e-8 iou_threshold: 0.6 }}
        score_converter: SIGMOID
      }}
      loss {{
        classification_loss {{ weighted_sigmoid_focal {{ }} }}
        localization_loss {{ weighted_smooth_l1 {{ }} }}
      }}
    }} }}
    """
    config, problems, _ = decode(text, TrainEvalPipelineConfig)
    assert not problems, problems
    return config
