"""One complete, trainable pipeline.config as text, and what tests need to vary it."""

from __future__ import annotations

from pathlib import Path

from holdfast.config.load import placed
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.errors import Problem

LABEL_MAP = 'item { id: 1 name: "cat" }\nitem { id: 2 name: "dog" }\nitem { id: 3 name: "owl" }\n'

CONFIG = """\
model {
  ssd {
    num_classes: 3
    image_resizer { fixed_shape_resizer { height: 320 width: 320 } }
    feature_extractor {
      type: "ssd_mobilenet_v2_fpn_keras"
      use_depthwise: true
      fpn { min_level: 3 max_level: 7 additional_layer_depth: 128 }
      conv_hyperparams {
        regularizer { l2_regularizer { weight: 4e-05 } }
        initializer { random_normal_initializer { mean: 0.0 stddev: 0.01 } }
        activation: RELU_6
      }
    }
    box_coder { faster_rcnn_box_coder { y_scale: 10 x_scale: 10 height_scale: 5 width_scale: 5 } }
    matcher { argmax_matcher { matched_threshold: 0.5 unmatched_threshold: 0.5 } }
    similarity_calculator { iou_similarity { } }
    box_predictor {
      weight_shared_convolutional_box_predictor { depth: 128 num_layers_before_predictor: 4 }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3
        max_level: 7
        anchor_scale: 4
        aspect_ratios: [1.0, 2.0, 0.5]
        scales_per_octave: 2
      }
    }
    post_processing {
      batch_non_max_suppression { score_threshold: 1e-08 iou_threshold: 0.6 }
      score_converter: SIGMOID
    }
    loss {
      classification_loss { weighted_sigmoid_focal { gamma: 2.0 alpha: 0.25 } }
      localization_loss { weighted_smooth_l1 { } }
    }
  }
}
train_config {
  batch_size: 8
  num_steps: 1000
  optimizer {
    momentum_optimizer {
      learning_rate {
        cosine_decay_learning_rate {
          learning_rate_base: 0.08
          total_steps: 1000
          warmup_learning_rate: 0.02
          warmup_steps: 100
        }
      }
      momentum_optimizer_value: 0.9
    }
    use_moving_average: false
  }
  fine_tune_checkpoint: "start/ckpt-0"
  fine_tune_checkpoint_type: "detection"
  data_augmentation_options { random_horizontal_flip { } }
  data_augmentation_options { random_crop_image { min_area: 0.75 } }
}
train_input_reader {
  label_map_path: "labels.pbtxt"
  tf_record_input_reader { input_path: "train.record" }
}
eval_config {
  metrics_set: "coco_detection_metrics"
}
eval_input_reader {
  label_map_path: "labels.pbtxt"
  shuffle: false
  tf_record_input_reader { input_path: "eval.record" }
}
"""

COSINE = CONFIG[CONFIG.index("        cosine_decay") : CONFIG.index("      }\n      momentum_opt")]


def edited(*replacements: tuple[str, str], text: str = CONFIG) -> str:
    """Replace pieces of the config; each must be there exactly once."""
    for old, new in replacements:
        assert text.count(old) == 1, f"{text.count(old)} times in the config: {old}"
        text = text.replace(old, new)
    return text


def config(*replacements: tuple[str, str], text: str = CONFIG) -> TrainEvalPipelineConfig:
    """Read the edited config, which must read without mistakes."""
    message, problems, _ = decode(edited(*replacements, text=text), TrainEvalPipelineConfig)
    assert problems == []
    return message


def on_lines(problems: list[Problem], text: str) -> list[Problem]:
    """Give each problem its line in the text, as `holdfast check` does."""
    positions = decode(text, TrainEvalPipelineConfig).positions
    return [placed(problem, positions) for problem in problems]


def line_of(piece: str, text: str = CONFIG) -> int:
    """Give the line on which a piece stands, which must be there exactly once."""
    assert text.count(piece) == 1, f"{text.count(piece)} times in the text: {piece}"
    return text[: text.index(piece)].count("\n") + 1


def write_files(folder: Path, text: str = CONFIG) -> Path:
    """Write the config with all the files it names, and give its path."""
    (folder / "start").mkdir(parents=True)
    (folder / "start" / "ckpt-0.index").write_bytes(b"index")
    (folder / "train.record").write_bytes(b"record")
    (folder / "eval.record").write_bytes(b"record")
    (folder / "labels.pbtxt").write_text(LABEL_MAP, encoding="utf-8")
    path = folder / "pipeline.config"
    path.write_text(text, encoding="utf-8")
    return path
