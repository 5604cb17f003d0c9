"""The `holdfast` command run inside of the test's process, and a training that takes seconds."""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from holdfast.cli.main import main
from holdfast.runs.run import Run

CONFIG = """
model { ssd { num_classes: 4
  image_resizer { fixed_shape_resizer { height: 96 width: 96 } }
  feature_extractor {
    type: "ssd_mobilenet_v1_keras" depth_multiplier: 0.1 min_depth: 8 num_layers: 2 }
  box_coder { faster_rcnn_box_coder { } }
  matcher { argmax_matcher { force_match_for_each_row: true } }
  similarity_calculator { iou_similarity { } }
  anchor_generator { ssd_anchor_generator { num_layers: 2 aspect_ratios: 1.0 } }
  box_predictor { convolutional_box_predictor { kernel_size: 1 conv_hyperparams {
    regularizer { l2_regularizer { weight: 0.001 } }
    initializer { truncated_normal_initializer { } } } } }
  loss {
    classification_loss { weighted_sigmoid_focal { } }
    localization_loss { weighted_smooth_l1 { } } }
  post_processing { score_converter: SIGMOID batch_non_max_suppression {
    max_detections_per_class: 10 max_total_detections: 20 } } } }
train_config { batch_size: 4 num_steps: 4
  optimizer { momentum_optimizer { learning_rate {
    constant_learning_rate { learning_rate: 0.01 } } } }
  data_augmentation_options { random_horizontal_flip { } } }
train_input_reader { label_map_path: "records/label_map.pbtxt"
  tf_record_input_reader { input_path: "records/train.record-*" } }
eval_config { batch_size: 4 num_visualizations: 2 }
eval_input_reader { label_map_path: "records/label_map.pbtxt"
  tf_record_input_reader { input_path: "records/val.record-*" } }
"""
RATE = "train_config.optimizer.momentum_optimizer.learning_rate.constant_learning_rate"


class Finished(NamedTuple):
    code: int
    out: str
    err: str


class Trained(NamedTuple):
    config: Path
    run: Path
    boxes: int  # to train on
    finished: Finished


def holdfast(*arguments: object) -> Finished:
    """Run the command as `main` does, with its exit code; nobody ever sees a traceback."""
    out, err = io.StringIO(), io.StringIO()
    environment = mock.patch.dict("os.environ", HOLDFAST_SUPERVISOR="")  # no new process
    command = mock.patch.object(sys, "argv", ["holdfast", *map(str, arguments)])
    code: object = None
    with environment, command, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    assert "Traceback" not in out.getvalue() + err.getvalue()
    return Finished(int(str(code or 0)), out.getvalue(), err.getvalue())


def words(text: str) -> str:
    """Undo the wrapping of lines and the frames around them."""
    return " ".join(text.replace("│", " ").split())


def steps_of(run: Path) -> list[int]:
    """Give the steps that a run has logged."""
    return [event.step for event in Run.open(run).read_events() if event.kind == "step"]
