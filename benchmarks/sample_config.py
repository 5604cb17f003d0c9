"""A pipeline.config of the usual size, so that the benchmarks need nothing from outside."""

HYPERPARAMS = """
        conv_hyperparams {
          regularizer { l2_regularizer { weight: 0.00004 } }
          initializer { random_normal_initializer { stddev: 0.01 mean: 0.0 } }
          activation: RELU_6
          batch_norm { scale: true decay: 0.997 epsilon: 0.001 }
        }
"""

CONFIG = f"""
model {{
  ssd {{
    num_classes: 3
    image_resizer {{ fixed_shape_resizer {{ height: 320 width: 320 }} }}
    feature_extractor {{
      type: "ssd_mobilenet_v2_fpn_keras"
      use_depthwise: true
      fpn {{ min_level: 3 max_level: 7 additional_layer_depth: 128 }}
      {HYPERPARAMS}
      override_base_feature_extractor_hyperparams: true
    }}
    box_coder {{
      faster_rcnn_box_coder {{ y_scale: 10.0 x_scale: 10.0 height_scale: 5.0 width_scale: 5.0 }}
    }}
    matcher {{
      argmax_matcher {{
        matched_threshold: 0.5
        unmatched_threshold: 0.5
        force_match_for_each_row: true
        use_matmul_gather: true
      }}
    }}
    similarity_calculator {{ iou_similarity {{ }} }}
    box_predictor {{
      weight_shared_convolutional_box_predictor {{
        {HYPERPARAMS}
        depth: 128
        num_layers_before_predictor: 4
        kernel_size: 3
        class_prediction_bias_init: -4.6
        share_prediction_tower: true
        use_depthwise: true
      }}
    }}
    anchor_generator {{
      multiscale_anchor_generator {{
        min_level: 3
        max_level: 7
        anchor_scale: 4.0
        aspect_ratios: [1.0, 2.0, 0.5]
        scales_per_octave: 2
      }}
    }}
    post_processing {{
      batch_non_max_suppression {{
        score_threshold: 1e-8
        iou_threshold: 0.6
        max_detections_per_class: 100
        max_total_detections: 100
      }}
      score_converter: SIGMOID
    }}
    loss {{
      localization_loss {{ weighted_smooth_l1 {{ }} }}
      classification_loss {{ weighted_sigmoid_focal {{ gamma: 2.0 alpha: 0.25 }} }}
    }}
  }}
}}
train_config {{
  batch_size: 8
  num_steps: 50000
  data_augmentation_options {{ random_horizontal_flip {{ }} }}
  optimizer {{
    momentum_optimizer {{
      learning_rate {{
        cosine_decay_learning_rate {{
          learning_rate_base: 0.08
          total_steps: 50000
          warmup_learning_rate: 0.0266
          warmup_steps: 1000
        }}
      }}
      momentum_optimizer_value: 0.9
    }}
  }}
}}
train_input_reader {{
  label_map_path: "label_map.pbtxt"
  tf_record_input_reader {{ input_path: "train.record-?????-of-00010" }}
}}
eval_config {{ metrics_set: "coco_detection_metrics" }}
eval_input_reader {{
  label_map_path: "label_map.pbtxt"
  tf_record_input_reader {{ input_path: "val.record-?????-of-00010" }}
}}
"""
