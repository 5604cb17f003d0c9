"""A training with little memory: python limited_training.py FOLDER RUN [--limit MEBIBYTES].

Tensors get so much and no more, from the allocator that GPUs use too. oneDNN is off: its
convolutions crash where other kernels say that memory ran out.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

CONFIG = """
model { ssd { num_classes: 4
  image_resizer { fixed_shape_resizer { height: %(side)d width: %(side)d } }
  feature_extractor {
    type: "ssd_mobilenet_v2_keras" depth_multiplier: 1.0 min_depth: 16
    override_base_feature_extractor_hyperparams: true
    conv_hyperparams { %(layers)s } }
  box_coder { faster_rcnn_box_coder { } }
  matcher { argmax_matcher { force_match_for_each_row: true } }
  similarity_calculator { iou_similarity { } }
  encode_background_as_zeros: true
  anchor_generator { ssd_anchor_generator { num_layers: 6 aspect_ratios: 1.0 aspect_ratios: 2.0 } }
  box_predictor { convolutional_box_predictor { conv_hyperparams { %(layers)s } } }
  loss {
    classification_loss { weighted_sigmoid_focal { alpha: 0.25 } }
    localization_loss { weighted_smooth_l1 { } } }
  post_processing { score_converter: SIGMOID batch_non_max_suppression {
    score_threshold: 0.01 max_detections_per_class: 20 max_total_detections: 20 } } } }
train_config { batch_size: %(batch_size)d num_steps: 3
  optimizer { momentum_optimizer { learning_rate {
    constant_learning_rate { learning_rate: 0.001 } } } use_moving_average: false }
  data_augmentation_options { random_horizontal_flip { } } }
train_input_reader { label_map_path: "label_map.pbtxt"
  tf_record_input_reader { input_path: "train.record-*" } }
"""
LAYERS = """regularizer { l2_regularizer { weight: 4e-5 } } activation: RELU_6
initializer { truncated_normal_initializer { stddev: 0.03 } }
batch_norm { scale: true decay: 0.9 train: false }"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--side", type=int, default=160)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--replicas", type=int, default=1)
    options = parser.parse_args()
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"}
    if options.limit is not None:
        limit = str(options.limit)
        os.environ |= {"TF_CPU_ALLOCATOR_USE_BFC": "true", "TF_CPU_BFC_MEM_LIMIT_IN_MB": limit}
    train_limited(options)


def train_limited(options: argparse.Namespace) -> None:
    import tensorflow as tf

    from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
    from holdfast.config.text.decode import decode
    from holdfast.training.loop import train
    from holdfast.training.reporter import Reporter
    from holdfast.training.training_settings import TrainingSettings

    class Printer(Reporter):
        def note(self, text: str) -> None:
            print("note:", text, flush=True)

    (cpu,) = tf.config.list_physical_devices("CPU")
    logical = [tf.config.LogicalDeviceConfiguration()] * options.replicas
    tf.config.set_logical_device_configuration(cpu, logical)
    strategy = None
    if options.replicas > 1:
        strategy = tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(options.replicas)])
    text = CONFIG % {
        "layers": LAYERS,
        "side": options.side,
        "batch_size": options.batch_size,
    }
    train(
        decode(text, TrainEvalPipelineConfig).message,
        options.run,
        settings=TrainingSettings(deterministic=True, steps=options.steps),
        folder=options.folder,
        reporter=Printer(),
        strategy=strategy,
    )


if __name__ == "__main__":
    main()
