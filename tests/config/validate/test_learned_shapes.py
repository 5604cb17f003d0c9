"""Masks and keypoints that are learned must be read, and those that are judged must be found."""

from __future__ import annotations

import pytest

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.config.validate.learned_shapes import check_shapes

MASKS = """model { faster_rcnn { number_of_stages: 3 second_stage_box_predictor {
  mask_rcnn_box_predictor { predict_instance_masks: true } } } }"""
POINTS = "model { center_net { keypoint_estimation_task { } } }"
LOADED = "load_instance_masks: true num_keypoints: 3"
KEYPOINT_METRIC = "parameterized_metric { coco_keypoint_metrics { } }"


def problems(model: str, *, train: str = LOADED, evaluation: str = LOADED, metrics: str = ""):
    text = f"""{model} train_input_reader {{ {train} }} eval_input_reader {{ {evaluation} }}
    eval_config {{ {metrics} }}"""
    return list(check_shapes(decode(text, TrainEvalPipelineConfig).message))


@pytest.mark.parametrize(
    ("model", "metrics"),
    [
        (MASKS, ""),
        (MASKS, 'metrics_set: "coco_mask_metrics"'),
        (POINTS, KEYPOINT_METRIC),
        (POINTS, 'metrics_set: "coco_keypoint_metrics"'),
        ("model { ssd { } }", 'metrics_set: "coco_detection_metrics"'),
        ("", 'metrics_set: "coco_mask_metrics"'),
    ],
)
def test_what_is_learned_read_and_judged_needs_no_word(model, metrics):
    assert problems(model, metrics=metrics) == []


@pytest.mark.parametrize(
    ("model", "setting"), [(MASKS, "load_instance_masks"), (POINTS, "num_keypoints")]
)
def test_training_data_that_is_not_read_is_an_error_and_evaluation_data_a_warning(model, setting):
    (training,) = problems(model, train="")
    assert (training.severity, training.path) == ("error", f"train_input_reader.{setting}")
    (evaluation,) = problems(model, evaluation="")
    assert (evaluation.severity, evaluation.path) == (
        "warning",
        f"eval_input_reader[0].{setting}",
    )
    assert "not evaluated" in evaluation.message
    assert setting in training.fix


@pytest.mark.parametrize(
    ("metrics", "path"),
    [
        ('metrics_set: "coco_mask_metrics"', "eval_config.metrics_set[0]"),
        ('metrics_set: "coco_keypoint_metrics"', "eval_config.metrics_set[0]"),
        (KEYPOINT_METRIC, "eval_config.parameterized_metric[0]"),
    ],
)
def test_metrics_of_what_the_detector_does_not_find_are_an_error(metrics, path):
    (problem,) = problems("model { ssd { } }", metrics=metrics)
    assert (problem.severity, problem.path) == ("error", path)
    assert "finds no" in problem.message
