"""A whole evaluation of masks and keypoints, from record files to metrics."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.data.input.build_input import open_reader
from holdfast.data.survey.statistics_cache import record_statistics
from holdfast.errors import HoldfastError
from holdfast.evaluation.build_evaluation import build_evaluation_input, build_metrics_set
from holdfast.evaluation.evaluate import evaluate_step
from holdfast.evaluation.evaluation_step import EvaluatedBatch
from holdfast.evaluation.pasted_masks import decode_stored
from holdfast.models.inference.detections import Detections

from .setups import NUM_IMAGES

SIDE = 64  # of a crop
READER = "load_instance_masks: true mask_type: PNG_MASKS num_keypoints: 5"
MODEL = """center_net { num_classes: 4
  image_resizer { fixed_shape_resizer { height: 64 width: 80 } }
  mask_estimation_task { } keypoint_estimation_task { } }"""


def parts(folder, *, evaluation="", reader=READER):
    text = f"""
    model {{ {MODEL} }} eval_config {{ batch_size: 4 {evaluation} }}
    eval_input_reader {{
      label_map_path: "{folder}/label_map.pbtxt"
      tf_record_input_reader {{ input_path: "{folder}/train.record-*" }}
      {reader}
    }}"""
    decoded = decode(text, TrainEvalPipelineConfig)
    assert decoded.problems == []
    config = decoded.message
    records = open_reader(config.eval_input_reader[0], folder)
    statistics = record_statistics(records.files, records.layout, records.names)
    return (
        build_evaluation_input(config, records, statistics),
        build_metrics_set(config, records),
    )


class FindsShapes:
    """A step that finds every object, its mask as a crop, all moved by a part of the image."""

    def __init__(self, moved: float = 0.0, *, gives_masks: bool = True) -> None:
        self.moved = moved
        self.gives_masks = gives_masks

    def __call__(self, batch):
        truth = batch.truth
        shape = (*truth.boxes.shape[:2], SIDE, SIDE)
        masks = np.zeros(shape, np.float32)
        for image, count in enumerate(truth.counts.numpy()):
            height, width = batch.original_sizes.numpy()[image]
            for index in range(count):
                stored = decode_stored(truth.encoded_masks.numpy()[image, index], height, width)
                masks[image, index] = crop(stored, truth.boxes.numpy()[image, index])
        detections = Detections(
            boxes=truth.boxes + self.moved,
            scores=tf.ones_like(truth.weights),
            classes=truth.classes,
            count=truth.counts,
            masks=tf.constant(masks) if self.gives_masks else None,
            keypoints=tf.where(tf.math.is_nan(truth.keypoints), 0.0, truth.keypoints) + self.moved,
            keypoint_scores=tf.ones_like(truth.keypoints[..., 0]),
        )
        return EvaluatedBatch(detections, {})


def crop(mask: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Take the pixels nearest to the places at which the pixels of a crop lie in the image."""
    rows, columns = (
        np.clip(np.round(np.linspace(low, high, SIDE) * (side - 1)), 0, side - 1).astype(int)
        for low, high, side in zip(box[:2], box[2:], mask.shape, strict=True)
    )
    return mask[rows][:, columns].astype(np.float32)


def test_what_is_labeled_found_again_scores_one(records_folder):
    data, metrics = parts(records_folder)
    assert metrics.names == (
        "coco_detection_metrics",
        "coco_mask_metrics",
        "coco_keypoint_metrics",
    )
    result = evaluate_step(FindsShapes(), data, metrics)
    assert result.images == NUM_IMAGES
    assert result.metrics["DetectionBoxes_Precision/mAP"] == pytest.approx(1.0)
    assert result.metrics["DetectionMasks_Precision/mAP@.50IOU"] == pytest.approx(1.0)
    assert result.metrics["DetectionMasks_Precision/mAP"] > 0.8
    assert result.metrics["Keypoints_Precision/mAP ByCategory/star"] == pytest.approx(1.0)
    star = result.document()["per_class"]["star"]
    assert star["mask_ap50"] == pytest.approx(1.0)
    assert star["keypoint_ap"] == pytest.approx(1.0)


def test_what_is_moved_scores_less(records_folder):
    data, metrics = parts(records_folder)
    result = evaluate_step(FindsShapes(moved=0.05), data, metrics)
    assert result.metrics["DetectionMasks_Precision/mAP"] < 0.7
    assert result.metrics["Keypoints_Precision/mAP ByCategory/star"] < 0.9


def test_a_chosen_class_and_its_sigmas_are_measured_alone(records_folder):
    chosen = """metrics_set: "coco_detection_metrics"
    parameterized_metric { coco_keypoint_metrics { class_label: "triangle" } }"""
    data, metrics = parts(records_folder, evaluation=chosen)
    result = evaluate_step(FindsShapes(), data, metrics)
    assert {name.split("/")[-1] for name in result.metrics if name.startswith("Keypoints")} == {
        "triangle"
    }
    assert "mask_ap" not in result.document()["per_class"]["star"]


def test_what_is_not_read_is_not_evaluated_unless_it_is_asked_for(records_folder):
    _, metrics = parts(records_folder, reader="")
    assert metrics.names == ("coco_detection_metrics",)
    asked = 'metrics_set: "coco_mask_metrics"'
    data, metrics = parts(records_folder, evaluation=asked)
    with pytest.raises(HoldfastError, match="the detector gives none"):
        evaluate_step(FindsShapes(gives_masks=False), data, metrics)
