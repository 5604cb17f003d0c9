"""A training of seconds, as a process that can be killed: python small_training.py FOLDER RUN …"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from functools import partial
from pathlib import Path

CONFIG = """
model { ssd { num_classes: 4
  image_resizer { fixed_shape_resizer { height: 64 width: 64 } }
  feature_extractor {
    type: "%(backbone)s" depth_multiplier: 0.1 min_depth: 8 num_layers: 3
    override_base_feature_extractor_hyperparams: true
    conv_hyperparams { %(layers)s } }
  box_coder { faster_rcnn_box_coder { } }
  matcher { argmax_matcher { force_match_for_each_row: true } }
  similarity_calculator { iou_similarity { } }
  encode_background_as_zeros: true
  anchor_generator { ssd_anchor_generator { num_layers: 3 aspect_ratios: 1.0 aspect_ratios: 2.0 } }
  box_predictor { convolutional_box_predictor {
    use_dropout: %(dropout)s conv_hyperparams { %(layers)s } } }
  loss {
    classification_loss { weighted_sigmoid_focal { alpha: 0.25 } }
    localization_loss { weighted_smooth_l1 { } } %(sampler)s }
  post_processing { score_converter: SIGMOID batch_non_max_suppression {
    score_threshold: 0.01 max_detections_per_class: 20 max_total_detections: 20 } } } }
train_config { batch_size: 8 num_steps: 12
  optimizer { momentum_optimizer { learning_rate { cosine_decay_learning_rate {
    learning_rate_base: 0.02 total_steps: 400 warmup_learning_rate: 0.01 warmup_steps: 2 } } }
    use_moving_average: true }
  data_augmentation_options { random_horizontal_flip { } }
  data_augmentation_options { ssd_random_crop { } } }
train_input_reader { label_map_path: "label_map.pbtxt"
  tf_record_input_reader { input_path: "train.record-*" } }
eval_input_reader { label_map_path: "label_map.pbtxt"
  tf_record_input_reader { input_path: "train.record-*" } }
"""
LAYERS = """regularizer { l2_regularizer { weight: 4e-5 } } activation: RELU_6
initializer { truncated_normal_initializer { stddev: 0.03 } }
batch_norm { scale: true decay: 0.9 train: %s }"""


def config_text(
    *, frozen: bool = False, chance: bool = True, evaluates: bool = True, deep: bool = False
) -> str:
    """Give the config.

    frozen: batch norm keeps its statistics. chance: dropout and sampling. Tracing takes most of
    the time: less of it without an evaluation at the end, more of it where the network is deep.
    """
    text = CONFIG if evaluates else CONFIG.partition("eval_input_reader")[0]
    return text % {
        "backbone": "ssd_mobilenet_v2_keras" if deep else "ssd_mobilenet_v1_keras",
        "layers": LAYERS % ("false" if frozen else "true"),
        "dropout": str(chance).lower(),
        "sampler": "random_example_sampler { }" if chance else "",
    }


def given_plan(micro_batch: int = 8, accumulation: int = 1):
    """Give a plan to follow, where planning is not what is tested: it takes seconds."""
    from holdfast.memory.plan import MemoryPlan, StepSettings

    return MemoryPlan(
        fits=True,
        limit_bytes=2**40,
        base_bytes=0,
        predicted_peak_bytes=0,
        items={},
        settings=StepSettings(micro_batch=micro_batch, accumulation=accumulation),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("--family", default="ssd")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--checkpoint-every", type=int, default=2)
    parser.add_argument("--evaluate-every", type=int, default=100)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--prune", help="as of `holdfast train`")
    parser.add_argument("--teacher", help="as of `holdfast train`")
    parser.add_argument("--quantize", type=int, help="the step from which it trains quantized")
    parser.add_argument("--peer-seconds", type=float, default=20.0)
    parser.add_argument("--stuck-at", type=int, help="read no batch after so many")
    parser.add_argument("--plain", action="store_true", help="frozen batch norm; SSD: no chance")
    options = parser.parse_args()
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    train_small(options)


def config_of(family: str, *, plain: bool):
    """Give the config of a family's training; plain: whole or in pieces, its losses are equal."""
    from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
    from holdfast.config.text.decode import decode

    text = config_text(frozen=plain, chance=not plain)
    config = decode(text, TrainEvalPipelineConfig).message
    if family == "ssd":
        return config
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.training.small_families import family_config

    from holdfast.training import session

    if plain:  # not every family has a field that freezes batch norm
        session.build_detector = partial(session.build_detector, freeze_batch_norm=True)
    return family_config(family, config)


def quantized_from(config, delay: int):
    """Let a config ask for quantization from a step on."""
    from holdfast.config.schema.pipeline_config import GraphRewriter, Quantization

    return config.replace(graph_rewriter=GraphRewriter(quantization=Quantization(delay=delay)))


def get_stuck(count: int) -> None:
    """Let the input of this process give so many batches, and then nothing for ever."""
    from holdfast.training.session import Session

    whole = Session.batches

    def some(session, start):
        batches = whole(session, start)
        yield from (next(batches) for _ in range(count - start))
        time.sleep(10_000)

    Session.batches = some


def train_small(options: argparse.Namespace) -> None:
    import tensorflow as tf

    from holdfast.training.loop import train
    from holdfast.training.optimization_choice import OptimizationChoice
    from holdfast.training.training_settings import TrainingSettings

    if options.stuck_at is not None:
        get_stuck(options.stuck_at)
    strategy = None
    workers = len(
        json.loads(os.environ.get("TF_CONFIG", "{}")).get("cluster", {}).get("worker", "1")
    )
    if options.replicas > 1:
        (cpu,) = tf.config.list_physical_devices("CPU")
        logical = [tf.config.LogicalDeviceConfiguration()] * options.replicas
        tf.config.set_logical_device_configuration(cpu, logical)
        names = [f"/cpu:{index}" for index in range(options.replicas)]
        strategy = tf.distribute.MirroredStrategy(names)
    config = config_of(options.family, plain=options.plain)
    if options.quantize is not None:
        config = quantized_from(config, options.quantize)
    train(
        config,
        options.run,
        settings=TrainingSettings(
            steps=options.steps,
            deterministic=True,
            checkpoint_every=options.checkpoint_every,
            evaluate_every=options.evaluate_every,
            peer_seconds=options.peer_seconds,
            accumulation=options.accumulate,
            optimization=OptimizationChoice(prune=options.prune),
            teacher=options.teacher,
            plan=given_plan(
                8 // options.replicas // options.accumulate // workers, options.accumulate
            )
            if options.plain
            else None,
        ),
        folder=options.folder,
        strategy=strategy,
    )


if __name__ == "__main__":
    main()
